//! What the tests share: packages as text, and a render of them.

use std::collections::BTreeMap;

use lanai_krm::package::{File, Package};
use lanai_krm::{Kptfile, Resource};
use lanai_render::{Error, ExecPolicy, Options, RenderLimits, Rendered, StatusPolicy, render};
use lanai_types::Limits;

use crate::functions::{Functions, Way};

/// A package of these files.
pub fn package(files: &[(&str, &str)]) -> Package {
    let files = files.iter().map(|(path, text)| (path, File::from_text(text)));
    Package::from_entries(files, Limits::default()).unwrap()
}

/// A Kptfile with these lines of a pipeline.
pub fn kptfile(name: &str, pipeline: &str) -> String {
    let head = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n");
    let lines = pipeline.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>().concat();
    if lines.is_empty() { head } else { format!("{head}pipeline:\n{lines}") }
}

/// A Kptfile with these mutators, given by what they run.
pub fn mutators(name: &str, execs: &[&str]) -> String {
    let lines = execs.iter().map(|exec| format!("  - exec: {exec}\n")).collect::<Vec<_>>().concat();
    kptfile(name, &format!("mutators:\n{lines}"))
}

/// A Kptfile with an annotation that is `true`.
pub fn annotated(kptfile: &str, annotation: &str) -> String {
    let annotations = "  annotations:\n";
    let line = format!("{annotations}    {annotation}: \"true\"\n");
    if kptfile.contains(annotations) {
        kptfile.replacen(annotations, &line, 1)
    } else {
        kptfile.replacen("metadata:\n", &format!("metadata:\n{line}"), 1)
    }
}

pub const BREADTH_FIRST: &str = "kpt.dev/bfs-rendering";
pub const SAVE: &str = "kpt.dev/save-on-render-failure";

/// A resource.
pub fn resource(name: &str) -> String {
    format!("apiVersion: v1\nkind: A\nmetadata:\n  name: {name}\ndata:\n  value: old # kept\n")
}

pub fn options() -> Options<'static> {
    Options {
        name: "p".into(),
        image_prefix: "reg.example/fn".into(),
        tags: &(),
        exec: ExecPolicy::Allowed,
        grants: lanai_evaluate::Grants::default(),
        read: lanai_krm::package::ReadOptions::default(),
        status: StatusPolicy::Leave,
        limits: RenderLimits::DEFAULT,
        cancel: tokio_util::sync::CancellationToken::default(),
    }
}

/// A render and what its functions saw.
#[derive(Debug)]
pub struct Seen {
    pub rendered: Rendered,
    pub calls: Vec<String>,
}

/// Renders with functions that get values, and with functions that get text: the outcome must be the same.
pub fn rendered_with(files: &[(&str, &str)], options: &Options<'_>) -> Seen {
    let [inside, wire] = [Way::Inside, Way::Wire].map(|way| run(files, options, way).unwrap());
    assert_eq!(texts(&inside.rendered.package), texts(&wire.rendered.package));
    assert_eq!(inside.calls, wire.calls);
    assert_eq!(inside.rendered.results, wire.rendered.results);
    wire
}

pub fn rendered(files: &[(&str, &str)]) -> Seen {
    rendered_with(files, &options())
}

/// Renders, with a status in the Kptfile.
pub fn with_status(files: &[(&str, &str)]) -> Seen {
    rendered_with(files, &Options { status: StatusPolicy::Write, ..options() })
}

/// Renders a Kptfile that has room for so many bytes, with a status in it.
pub fn with_status_within(room: usize, kptfile: &str) -> Seen {
    let max_document = lanai_types::ByteSize::bytes(room as u64);
    let files = [("Kptfile", File::from_text(kptfile))];
    let package = Package::from_entries(files, Limits { max_document, ..Limits::default() }).unwrap();
    let functions = Functions::new(Way::Inside);
    let options = Options { status: StatusPolicy::Write, ..options() };
    let rendered = wait(render(&package, &options, &functions, &mut ())).unwrap();
    Seen { rendered, calls: functions.calls() }
}

/// Renders what cannot be opened.
pub fn refused(files: &[(&str, &str)]) -> Error {
    run(files, &options(), Way::Inside).map(|seen| seen.rendered.outcome).unwrap_err()
}

/// Renders in one way only.
pub fn run(files: &[(&str, &str)], options: &Options<'_>, way: Way) -> Result<Seen, Error> {
    let functions = Functions::new(way);
    let package = package(files);
    let rendered = wait(render(&package, options, &functions, &mut ()))?;
    Ok(Seen { rendered, calls: functions.calls() })
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

impl Seen {
    /// The text of a file.
    pub fn text(&self, path: &str) -> String {
        texts(&self.rendered.package).remove(path).unwrap_or_else(|| panic!("there is a file {path}"))
    }

    /// The names of the files.
    pub fn files(&self) -> Vec<String> {
        texts(&self.rendered.package).into_keys().collect()
    }

    /// An annotation of the first resource of a file.
    pub fn annotation(&self, path: &str, key: &str) -> Option<String> {
        let resources = Resource::parse_stream(&self.text(path)).unwrap();
        resources[0].annotation(key).map(std::borrow::Cow::into_owned)
    }

    /// Who marked the first resource of a file.
    pub fn by(&self, path: &str) -> String {
        self.annotation(path, "by").unwrap_or_default()
    }

    pub fn error(&self) -> String {
        self.rendered.outcome.failure().map(ToString::to_string).unwrap_or_default()
    }

    /// What the condition says.
    pub fn message(&self) -> String {
        self.rendered.outcome.failure().map(|failure| failure.message.clone()).unwrap_or_default()
    }

    pub fn kptfile(&self) -> Kptfile {
        Kptfile::parse(&self.text("Kptfile")).unwrap()
    }

    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert!(self.rendered.outcome.failure().is_none(), "{:?}", self.rendered.outcome);
        self
    }
}

pub fn texts(package: &Package) -> BTreeMap<String, String> {
    let files = package.iter().map(|(path, file)| (path.to_string(), file.text().unwrap_or("?").to_owned()));
    files.collect()
}
