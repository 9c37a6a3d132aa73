//! `lanai pkg update`: takes over what changed upstream.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use lanai_krm::ignore::{Dialect, IgnoreRules};
use lanai_krm::kptfile::UpdateStrategy;
use lanai_krm::package::{File, Folder};
use lanai_krm::{Kptfile, Package};
use lanai_merge::{
    Conflict, ConflictId, Merged, Options, Policy, Resolution, Side, Strategy, Take, three_way,
};
use lanai_repository::Revision;
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use super::address::Target;
use super::args::{Format, PolicyName, Update};
use super::conflicts::{Entry, Files, Open, Report};
use super::dirty::{self, Care, Git};
use super::kptfile::{self, Read, Source};
use super::local::{Local, Purpose};
use super::nested::{self, Sides};
use super::patch::{Labels, changes};
use super::resolutions::{Decisions, Resolutions};
use super::upstream::Repositories;
use super::versions::{Request, Versions};
use super::{ignored, local};
use crate::failure::{Code, Failure};
use crate::io::{Audience, Exit, Io};

/// The command that prints conflicts for `--resolve`.
const PRINTER: &str = "lanai pkg update -o yaml --dry-run";

pub(super) fn run(update: &Update, dialect: Dialect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let target = Target::parse(&update.target)?;
    let resolutions =
        update.resolve.as_deref().map(|path| Resolutions::read(path, PRINTER, io)).transpose()?;
    let purpose = if update.dry_run { Purpose::Look } else { Purpose::Change("lanai pkg update") };
    let local = Local::open(Path::new(&target.path), purpose, io)?;
    let mut repositories = Repositories::new(io)?;
    let work = Work {
        local: &local,
        update,
        dialect,
        version: target.version.as_deref(),
        decisions: Decisions::new(),
        resolutions: resolutions.as_ref(),
        repositories: &mut repositories,
    };
    let git = Git::new(&local.root, io);
    std::thread::scope(|scope| {
        let care = match (update.dry_run, update.force) {
            (true, _) => None,
            (false, true) => Some(Care::SaveCopies),
            (false, false) => Some(Care::Refuse(git.ask(scope)?)),
        };
        finish(work, care, io)
    })
}

/// Merges, and writes what comes out with care; without, it is only shown.
fn finish(mut work: Work<'_>, care: Option<Care<'_>>, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let (local, update) = (work.local, work.update);
    let mut outcome = work.all(io)?;
    if let Some(resolutions) = work.resolutions {
        work.decisions = resolutions.decisions(&outcome.report)?;
        // What was fetched is still there; what was said about it need not be said again.
        let mut nowhere = std::io::sink();
        let mut quiet = Io {
            stdin: &mut *io.stdin,
            stdout: &mut *io.stdout,
            stderr: &mut nowhere,
            colour: io.colour,
            folder: io.folder.clone(),
            environment: io.environment.clone(),
            audience: Audience::Record,
            program: None,
            stop: io.stop.clone(),
        };
        outcome = work.all(&mut quiet)?;
    }
    let Outcome { after, mut report } = outcome;
    ignored::warn(&after, work.dialect, io);
    let diff = local.package.diff(&after);
    report.files =
        Files { added: diff.added.clone(), changed: diff.changed.clone(), removed: diff.removed.clone() };

    let open = report.conflicts.iter().filter(|entry| entry.chosen.is_empty()).count();
    if update.dry_run && update.output == Format::Table {
        let labels = Labels { before: "before", after: "after" };
        io.print(&changes(&local.package, &after, labels, io.colour))?;
    }
    if open > 0 {
        unless_nobody_reads(io.print(&report.text(update.output)?))?;
        io.tell(&format!("error: {open} conflict(s) are not decided; nothing was changed"));
        io.tell("hint: print them with -o yaml, choose a side for each, and hand that back with --resolve");
        // Whoever reads rules as kpt does called it by that name.
        if work.dialect != Dialect::Kpt {
            io.tell(&Code::Undecided.line());
        }
        return Ok(Exit::Conflicts);
    }
    let text = report.text(update.output)?;
    if let Some(care) = care {
        dirty::guard(&local.root, &local.package, &diff, care, io)?;
        local.write(&after, io)?;
    }
    let printed = unless_nobody_reads(io.print(&text));
    let done = if update.dry_run { "Would update" } else { "Updated" };
    io.tell(&format!("\n{done} {} package(s).", report.updates.len()));
    match printed {
        Err(failure) if !update.dry_run => {
            Err(failure.context("the package was updated, but its conflicts could not be shown"))
        }
        other => other.map(|()| Exit::Success),
    }
}

/// What was done does not depend on who reads about it.
fn unless_nobody_reads(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(Failure::NobodyReads) => Ok(()),
        other => other,
    }
}

/// One update, of the package and those inside it.
struct Work<'a> {
    local: &'a Local,
    update: &'a Update,
    dialect: Dialect,
    version: Option<&'a str>,
    decisions: Decisions,
    /// Where the decisions are from.
    resolutions: Option<&'a Resolutions>,
    repositories: &'a mut Repositories,
}

/// What an update makes.
struct Outcome {
    after: Package,
    report: Report,
}

/// A package that is to be updated.
struct Next {
    folder: Folder,
    /// The version to move to; where there is none, the one that its Kptfile names.
    version: Option<String>,
}

impl Work<'_> {
    /// Updates the package, then those directly inside it that have an upstream, and so on.
    fn all(&mut self, io: &mut Io<'_>) -> Result<Outcome, Failure> {
        let mut after = self.local.package.clone();
        let report = Report {
            package: self.local.name(),
            updates: Vec::new(),
            files: Files::default(),
            conflicts: Vec::new(),
        };
        let mut report = report;
        let mut open =
            VecDeque::from([Next { folder: Folder::Root, version: self.version.map(String::from) }]);
        while let Some(next) = open.pop_front() {
            if report.updates.len() >= nested::MAX_PACKAGES {
                return Err(nested::too_many());
            }
            open.extend(self.one(&mut after, &next, &mut report, io)?);
        }
        Ok(Outcome { after, report })
    }

    /// Updates one package; returns those inside it that come next.
    fn one(
        &mut self,
        tree: &mut Package,
        next: &Next,
        report: &mut Report,
        io: &mut Io<'_>,
    ) -> Result<Vec<Next>, Failure> {
        let folder = &next.folder;
        let root = &self.local.root;
        let Some(kptfile) = kptfile::read(tree, folder, root)? else {
            return Err(Failure::of(
                Code::NoPackage,
                format!("no Kptfile found at {}", Quoted(&root.display().to_string())),
            ));
        };
        let Some(old) = kptfile.source()? else {
            let why = format!("package {} must have an upstream reference", Quoted(kptfile.name()));
            return Err(kptfile.refused_whole(&why).hint("\"lanai pkg get\" makes packages that have one"));
        };
        let name = match folder {
            Folder::Root => self.local.name(),
            Folder::At(path) => format!("{}/{path}", self.local.name()),
        };
        io.tell(&format!("{}Package {}:", if *folder == Folder::Root { "" } else { "\n" }, Quoted(&name)));
        let new = Source {
            reference: next.version.clone().unwrap_or_else(|| old.reference.clone()),
            ..old.clone()
        };
        let strategy = self.strategy(&kptfile, folder)?;
        let origin = self.update.origin.as_deref().filter(|_| *folder == Folder::Root);
        let revision = revision(next.version.as_deref(), &kptfile, &new)?;
        let request = Request { kptfile: &kptfile, folder, new: &new, revision, strategy, origin };
        let versions = request.fetch(self.repositories, io)?;
        io.tell(&format!(
            "Updating package {} with strategy {}.",
            Quoted(&local::base(Path::new(&name))),
            Quoted(strategy.as_str())
        ));

        let Versions { original, upstream, update, found, commit } = versions;
        let mut sides = Sides { original, upstream, local: nested::cut(tree, folder) };
        let Merged { mut package, conflicts } = self.merge(&mut sides, strategy, folder)?;
        let place = match folder {
            Folder::Root => root.clone(),
            Folder::At(path) => root.join(path.as_str()),
        };
        let fresh = kptfile::read(&package, &Folder::Root, &place).or_else(|failure| {
            // What cannot be read here may have come from there.
            kptfile::read_fetched(&sides.upstream, &new).and(Err(failure))
        })?;
        let mut merged = fresh.map(Kptfile::from).ok_or_else(|| {
            Failure::of(Code::NoPackage, format!("the merge of package {} left no Kptfile", Quoted(&name)))
        })?;
        kptfile::set_origin(&mut merged, &new, &found, commit)?;
        if let Some(flag) = self.update.strategy.filter(|_| *folder == Folder::Root) {
            set_strategy(&mut merged, flag.into())?;
        }
        kptfile::write(&mut package, &Folder::Root, &merged)?;
        nested::graft(tree, folder, &package)?;
        let undecided = match self.update.policy {
            PolicyName::Fail => Open::Undecided,
            PolicyName::Upstream | PolicyName::Local => Open::Decided,
        };
        let values = own_values(self.decided(folder));
        report.conflicts.extend(conflicts.iter().map(|conflict| Entry {
            value: own_value(&values, conflict),
            ..Entry::new(folder, conflict, undecided)
        }));
        report.updates.push(update);
        self.inside(tree, folder, &old, &new).map_err(|failure| {
            // What cannot be read inside may have come from there.
            let inner = sides.upstream.direct_subpackages(&Folder::Root);
            let found = inner.iter().find_map(|at| kptfile::read_inside(&sides.upstream, at, &new).err());
            found.unwrap_or(failure)
        })
    }

    /// What was decided for conflicts of one package.
    fn decided(&self, folder: &Folder) -> &[Resolution] {
        self.decisions.get(&folder.to_string()).map_or(&[], Vec::as_slice)
    }

    /// Merges, with the decisions that were made for this package.
    fn merge(&self, sides: &mut Sides, strategy: Strategy, folder: &Folder) -> Result<Merged, Failure> {
        let aside = sides.set_aside();
        lanai_krm::mark::mark(&mut sides.original, self.dialect);
        lanai_krm::mark::mark(&mut sides.upstream, self.dialect);
        let options = Options {
            strategy,
            // With conflicts that nobody decided, nothing is written; but they are all to be seen.
            policy: match self.update.policy {
                PolicyName::Local => Policy::LocalWins,
                PolicyName::Upstream | PolicyName::Fail => Policy::UpstreamWins,
            },
            resolutions: self.decided(folder).to_vec(),
            ignore_dialect: self.dialect,
        };
        let merged = three_way(&sides.original, &sides.upstream, &sides.local, &options);
        let mut merged = merged.map_err(|error| self.unmerged(error, folder))?;
        sides.follow(&mut merged.package)?;
        aside.put_back(&mut merged.package)?;
        Ok(merged)
    }

    /// Why a package was not merged: a file of it by its path on the disk, a decision by its line.
    fn unmerged(&self, error: lanai_merge::Error, folder: &Folder) -> Failure {
        use lanai_merge::Error;
        let place = |path: &SafePath| {
            let path = self.local.root.join(folder.to_string()).join(path.as_str());
            Quoted(&path.components().collect::<PathBuf>().display().to_string()).to_string()
        };
        let whole = |text: String| match folder {
            Folder::Root => Failure::of(Code::Text, text),
            Folder::At(path) => Failure::of(Code::Text, format!("package {}: {text}", Quoted(path.as_str()))),
        };
        let text = error.to_string();
        match (error, self.resolutions) {
            (
                Error::BadValue { conflict, .. }
                | Error::Unfit { conflict, .. }
                | Error::TwoResolutions(conflict)
                | Error::OtherKey(conflict)
                | Error::PlaceTaken(conflict),
                Some(resolutions),
            ) => resolutions.refused(&folder.to_string(), &conflict, &text),
            (Error::Duplicate { side: Side::Local, resource, path, first_line, second_line }, _) => {
                Failure::of(
                    Code::Text,
                    format!(
                        "file {}, line {second_line}: {resource} is there for the second time; the first one is on line {first_line}",
                        place(&path)
                    ),
                )
            }
            (Error::Edit { path, line, cause }, _) => {
                Failure::of(Code::Text, format!("file {}, line {line}: {cause}", place(&path)))
            }
            (Error::Package(lanai_krm::package::Error::Ignore { path, cause }), _)
                if self.has(folder, &path) =>
            {
                Failure::of(Code::Text, format!("file {}: {cause}", place(&path)))
            }
            (Error::LocallyModified(_), _) => whole(text).hint("--strategy names another one"),
            (
                Error::BadValue { .. }
                | Error::Unfit { .. }
                | Error::TwoResolutions(_)
                | Error::OtherKey(_)
                | Error::PlaceTaken(_)
                | Error::Duplicate { .. }
                | Error::Package(_)
                | Error::Conflicts(_)
                | Error::Composition(_)
                | Error::UnknownStrategy(_),
                _,
            ) => whole(text),
        }
    }

    /// Whether the package on the disk has a file with rules that are refused.
    fn has(&self, folder: &Folder, path: &SafePath) -> bool {
        let path = match folder {
            Folder::Root => Ok(path.clone()),
            Folder::At(outer) => outer.join(path),
        };
        let file = path.ok().and_then(|path| self.local.package.get(&path));
        file.and_then(File::text).is_some_and(|text| IgnoreRules::parse(text).is_err())
    }

    /// The flag, else what the Kptfile says, else by resources.
    fn strategy(&self, kptfile: &Read, folder: &Folder) -> Result<Strategy, Failure> {
        if let Some(flag) = self.update.strategy.filter(|_| *folder == Folder::Root) {
            return Ok(flag.into());
        }
        let written =
            kptfile.fields().upstream.as_ref().and_then(|upstream| upstream.update_strategy.as_ref());
        let word = written.map_or("", UpdateStrategy::as_str);
        if word.is_empty() {
            return Ok(Strategy::default());
        }
        word.parse().map_err(|error: lanai_merge::Error| {
            kptfile.refused(&["upstream", "updateStrategy"], &error).hint("--strategy names another one")
        })
    }

    /// The packages directly inside that have an upstream, and where they go.
    fn inside(
        &self,
        tree: &Package,
        folder: &Folder,
        old: &Source,
        new: &Source,
    ) -> Result<Vec<Next>, Failure> {
        let mut next = Vec::new();
        for inner in tree.direct_subpackages(folder) {
            let Some(kptfile) = kptfile::read(tree, &inner, &self.local.root)? else { continue };
            let Some(source) = kptfile.source()? else { continue };
            let version = nested::moves_with(old, &source, &new.reference);
            next.push(Next { folder: inner, version });
        }
        Ok(next)
    }
}

/// The values that were decided and are nobody's, by conflict.
fn own_values(decided: &[Resolution]) -> HashMap<&ConflictId, &str> {
    let mut own = HashMap::new();
    for Resolution { conflict, take } in decided {
        match take {
            Take::Value(value) => _ = own.insert(conflict, value.as_str()),
            Take::Original | Take::Upstream | Take::Local => {}
        }
    }
    own
}

fn own_value(values: &HashMap<&ConflictId, &str>, conflict: &Conflict) -> Option<String> {
    let value = values.get(&conflict.id).filter(|_| conflict.chosen == Side::Value);
    value.map(|value| (*value).to_owned())
}

/// The revision to move to: the one that was asked for, else the one of the Kptfile.
fn revision(asked: Option<&str>, kptfile: &Read, new: &Source) -> Result<Revision, Failure> {
    if new.reference.is_empty() {
        return Ok(Revision::DefaultBranch);
    }
    new.reference.parse().map_err(|error: lanai_repository::revision::Error| match asked {
        Some(_) => Failure::of(Code::Address, error.to_string()),
        None => kptfile.refused(&["upstream", "git", "ref"], &error),
    })
}

fn set_strategy(kptfile: &mut Kptfile, strategy: Strategy) -> Result<(), Failure> {
    let word = UpdateStrategy::from(strategy.as_str().to_owned());
    let edited = kptfile.edit(|fields| {
        if let Some(upstream) = &mut fields.upstream {
            upstream.update_strategy = Some(word);
        }
    });
    edited.map_err(|error| kptfile::uneditable(kptfile, &error))
}
