//! `lanai rpkg upgrade --all`: all packages that have a newer upstream, shown before they are upgraded.

use serde_json::{Value, json};

use super::ancestry::{Origin, Revisions, origin};
use super::args::Upgrade;
use super::many::{Problem, Said, each};
use super::server::{Dry, Server, is_published, name_of, text};
use super::upgrade::{Decided, Plan, counted, make, plan};
use crate::client::Trouble;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::output;
use crate::pkg::Format;
use crate::table;

/// The label of the newest revision of a package.
const LATEST: &str = "kpt.dev/latest-revision=true";

/// Upgrades the newest revision of all packages that have a newer upstream, or shows which those are.
pub(super) fn run(upgrade: &Upgrade, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let is_preview = upgrade.dry_run || !upgrade.yes;
    if upgrade.workspace.is_empty() && !is_preview {
        return Err(Failure::of(Code::Usage, "--workspace is required to specify workspace name"));
    }
    let revisions = Revisions::load(server, io)?;
    let labels = match &upgrade.selector {
        Some(selector) => format!("{LATEST},{selector}"),
        None => LATEST.to_owned(),
    };
    let fields: Vec<(&str, &str)> =
        upgrade.repository.iter().map(|name| ("spec.repository", name.as_str())).collect();
    let newest = server.list(&fields, Some(&labels), io)?;
    let plans: Vec<Wanted> = newest
        .iter()
        .filter_map(|object| plan(name_of(object), upgrade.revision, &revisions).ok())
        .filter(|plan| plan.from < plan.to)
        .map(|plan| Wanted { draft: draft(&plan, &revisions), plan })
        .collect();
    if plans.is_empty() {
        match (upgrade.output, newest.is_empty()) {
            (Format::Table, true) => io.print("no published package is meant\n")?,
            (Format::Table, false) => io.print("All downstream packages are up to date.\n")?,
            (format, _) => print(&[], format, io)?,
        }
        return Ok(Exit::Success);
    }
    if is_preview { show(&plans, upgrade, server, io) } else { do_it(&plans, upgrade, server, io) }
}

/// A package that can be upgraded.
struct Wanted {
    plan: Plan,
    /// The draft that is this upgrade already.
    draft: Option<Draft>,
}

/// An upgrade that somebody made before.
#[derive(Clone)]
struct Draft {
    name: String,
    conflicts: usize,
}

/// What became of one, or would.
enum Outcome {
    Made { name: String, conflicts: usize },
    There(Draft),
    Undecided(usize),
    Failed(String),
}

impl Outcome {
    fn of(object: &Value) -> Self {
        Self::Made { name: name_of(object).to_owned(), conflicts: conflicts(object) }
    }

    /// For people, of what was not made.
    fn preview(&self) -> String {
        match self {
            Self::Made { conflicts, .. } | Self::Undecided(conflicts) => counted(*conflicts),
            Self::There(Draft { name, conflicts }) => format!("{}, in draft {name}", counted(*conflicts)),
            Self::Failed(why) => why.lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// For programs.
    fn entry(&self, plan: &Plan) -> Value {
        let mut entry = json!({
            "packageRevision": name_of(&plan.local), "upstream": plan.new, "from": plan.from, "to": plan.to,
        });
        match self {
            Self::Made { name, conflicts } => {
                entry["outcome"] = json!("upgraded");
                entry["name"] = json!(name);
                entry["conflicts"] = json!(conflicts);
            }
            Self::There(Draft { name, conflicts }) => {
                entry["outcome"] = json!("exists");
                entry["name"] = json!(name);
                entry["conflicts"] = json!(conflicts);
            }
            Self::Undecided(conflicts) => {
                entry["outcome"] = json!("conflicts");
                entry["conflicts"] = json!(conflicts);
            }
            Self::Failed(why) => {
                entry["outcome"] = json!("failed");
                entry["message"] = json!(why);
            }
        }
        entry
    }
}

/// The draft of a package that is the same upgrade.
fn draft(plan: &Plan, revisions: &Revisions) -> Option<Draft> {
    let spec = &plan.local["spec"];
    let is_same = |object: &&Value| {
        let other = &object["spec"];
        text(other, "repository") == text(spec, "repository")
            && text(other, "packageName") == text(spec, "packageName")
            && !is_published(object)
            && matches!(origin(object), Origin::Upgrade { new, .. } if new == plan.new)
    };
    let found = revisions.by_name.values().find(is_same);
    found.map(|object| Draft { name: name_of(object).to_owned(), conflicts: conflicts(object) })
}

/// How many conflicts a revision was made with.
fn conflicts(object: &Value) -> usize {
    object["status"]["conflicts"].as_array().map_or(0, Vec::len)
}

/// Shows what would be made.
fn show(wanted: &[Wanted], upgrade: &Upgrade, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut outcomes = Vec::new();
    for Wanted { plan, draft } in wanted {
        if let Some(draft) = draft {
            outcomes.push((plan, Outcome::There(draft.clone())));
            continue;
        }
        let outcome = match make(plan, upgrade, upgrade.policy, &[], Dry::Run, server, io) {
            Ok(object) => Outcome::of(&object),
            Err(Trouble::Stopped) => {
                io.tell(&format!(
                    "stopped: {} of {} were looked at; nothing was made",
                    outcomes.len(),
                    wanted.len()
                ));
                return Err(Trouble::Stopped.into());
            }
            Err(Trouble::Refused(refusal)) if !refusal.merge_conflicts().is_empty() => {
                Outcome::Undecided(refusal.merge_conflicts().len())
            }
            Err(trouble) => Outcome::Failed(trouble.to_string()),
        };
        outcomes.push((plan, outcome));
    }
    let is_left = outcomes.iter().any(|(_, outcome)| !matches!(outcome, Outcome::There(_)));
    if upgrade.output == Format::Table {
        let row = |(plan, outcome): &(&Plan, Outcome)| {
            let update = format!("v{}->v{}", plan.from, plan.to);
            vec![name_of(&plan.local).to_owned(), plan.new.clone(), update, outcome.preview()]
        };
        let rows = outcomes.iter().map(row).collect();
        io.print(&table::text(&["PACKAGE REVISION", "UPSTREAM", "UPDATE", "OUTCOME"], rows))?;
    } else {
        print(&outcomes, upgrade.output, io)?;
    }
    let workspace = if upgrade.workspace.is_empty() { " --workspace NAME" } else { "" };
    io.tell(&match (is_left, upgrade.dry_run, upgrade.yes) {
        (false, ..) => "nothing was made; all of them are in drafts".to_owned(),
        (true, true, true) => "nothing was made: it was a dry run".to_owned(),
        (true, true, false) => {
            format!("nothing was made; --yes{workspace} in place of --dry-run makes these revisions")
        }
        (true, false, _) => format!("nothing was made; --yes{workspace} makes these revisions"),
    });
    Ok(Exit::Success)
}

/// Makes the revisions.
fn do_it(wanted: &[Wanted], upgrade: &Upgrade, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let names: Vec<String> = wanted.iter().map(|one| name_of(&one.plan.local).to_owned()).collect();
    let mut outcomes: Vec<(&Plan, Outcome)> = Vec::new();
    // Programs read the list that comes at the end.
    let said = |line: String| match upgrade.output {
        Format::Table => Said::Result(line),
        Format::Yaml | Format::Json => Said::Note(line),
    };
    let done = each(&names, server, io, |name, io| {
        let one = wanted.iter().find(|one| name_of(&one.plan.local) == name);
        let one = one.ok_or_else(|| Problem::Text(Code::NotFound, "it is not there".into()))?;
        if let Some(draft) = &one.draft {
            outcomes.push((&one.plan, Outcome::There(draft.clone())));
            let (new, draft) = (&one.plan.new, &draft.name);
            return Ok(Said::Note(format!("{name} is upgraded to {new} in {draft} already")));
        }
        let object = match make(&one.plan, upgrade, upgrade.policy, &[], Dry::No, server, io) {
            Ok(object) => object,
            Err(trouble) => {
                if let Trouble::Refused(refusal) = &trouble {
                    let conflicts = refusal.merge_conflicts();
                    if upgrade.output == Format::Table && !conflicts.is_empty() {
                        let report = one.plan.report(&Value::Array(conflicts.clone()), Decided::No);
                        // What cannot be printed is told by whoever comes next.
                        let _ = report.text(Format::Table).and_then(|text| io.print(&text));
                    }
                    outcomes.push((
                        &one.plan,
                        match conflicts.len() {
                            0 => Outcome::Failed(trouble.to_string()),
                            number => Outcome::Undecided(number),
                        },
                    ));
                }
                return Err(trouble.into());
            }
        };
        let outcome = Outcome::of(&object);
        let remark = match &outcome {
            Outcome::Made { conflicts: 0, .. } => String::new(),
            other => format!(", with {}", other.preview()),
        };
        outcomes.push((&one.plan, outcome));
        Ok(said(format!("{name} upgraded to {}{remark}", name_of(&object))))
    });
    if upgrade.output != Format::Table {
        print(&outcomes, upgrade.output, io)?;
    }
    let undecided = outcomes.iter().find(|(_, outcome)| matches!(outcome, Outcome::Undecided(_)));
    match (done, undecided) {
        (Err(Failure::Told(message)), Some((plan, _))) => {
            let name = name_of(&plan.local);
            io.tell(&format!(
                "error: {}\nhint: decide about each with \"lanai rpkg upgrade {name} --workspace {} --resolve FILE\", where \"lanai rpkg upgrade {name} -o yaml --dry-run\" begins FILE\n{}",
                message.text(),
                upgrade.workspace,
                Code::Undecided.line()
            ));
            Ok(Exit::Conflicts)
        }
        (done, _) => done,
    }
}

fn print(outcomes: &[(&Plan, Outcome)], format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let entries: Vec<Value> = outcomes.iter().map(|(plan, outcome)| outcome.entry(plan)).collect();
    let list = json!(entries);
    let text = match format {
        Format::Yaml => output::yaml(&list)?,
        Format::Table | Format::Json => output::json(&list) + "\n",
    };
    io.print(&text)
}
