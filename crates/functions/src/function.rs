//! What a function is.

use std::collections::BTreeMap;

use lanai_krm::ResourceList;
use lanai_krm::result::{ResultItem, Severity};

/// A function: it changes the resources of a list, or looks at them, and reports.
///
/// All functions promise: what they do not change stays byte for byte as it is, comments and order included; equal lists give
/// equal answers; a second run changes nothing; nothing outside of the list is read or written; no configuration makes them
/// panic, a wrong one gives a result of severity error that says what was expected.
pub trait Function: Sync {
    /// The name, which is also the last part of the images that it stands for.
    fn name(&self) -> &'static str;

    /// Other names that it has had.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The tags of the images that it stands for. Other tags may mean another behaviour; `latest`, and no tag, mean this one.
    fn tags(&self) -> &'static [&'static str];

    /// What users should know.
    fn doc(&self) -> Doc;

    /// The program of the public catalog that does the same, and before which every fixture was put.
    fn counterpart(&self) -> Counterpart {
        Counterpart::Program { version: CATALOG, resources: Compared::Text }
    }

    /// Whose code runs. What users wrote is run where it can be stopped.
    fn code(&self) -> Code {
        Code::Ours
    }

    /// The same function for somebody who is granted these variables; none where it has no use for them.
    fn with_environment(&self, environment: BTreeMap<String, String>) -> Option<Box<dyn Function + Send>> {
        let _ = environment;
        None
    }

    /// Runs it: takes the configuration and the resources from the list, changes the resources, adds what it reports behind
    /// the results that are there.
    ///
    /// # Errors
    /// When the function failed. The list then has a result that says why, and may have been changed in part.
    fn run(&self, list: &mut ResourceList) -> Result<(), Failure>;

    /// Runs it as [`run`](Self::run) does, and adds what it has to say beside its results, as a program does on its standard
    /// error output. Most functions are silent.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    fn run_aloud(&self, list: &mut ResourceList, stderr: &mut String) -> Result<(), Failure> {
        let _ = stderr;
        self.run(list)
    }
}

/// The state of the catalog that most functions are compared with.
pub const CATALOG: &str = "kptdev/krm-functions-catalog, commit 76fe3817 (June 2025)";

/// What the answers of a function are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counterpart {
    /// With those of a program. They stand beside ours, in the fixtures.
    Program {
        /// Which one: where its source is, and the release or the commit.
        version: &'static str,
        /// What of the resources is compared. Exit code and results always are.
        resources: Compared,
    },
    /// With none.
    None {
        /// Why not, as a sentence without an end.
        why: &'static str,
    },
}

/// What of the resources is compared with those of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The text of each in the reference format, comments and the order of fields included.
    Text,
    /// The values, because the program writes resources anew.
    Values,
}

/// Whose code runs in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Ours: it ends, and takes memory in proportion to its input.
    Ours,
    /// A user's, such as a script in the configuration: it may do anything that its language can.
    Users,
}

/// A function failed. Its results say why; the message is that of the first result of severity error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong.
    pub message: String,
}

impl Failure {
    /// Puts an error into the results, and fails with it.
    pub fn report(list: &mut ResourceList, error: ResultItem) -> Self {
        let message = error.message.clone();
        list.results.push(ResultItem { severity: Some(Severity::Error), ..error });
        Self { message }
    }

    /// Fails if there is a result of severity error from this place on.
    ///
    /// # Errors
    /// With the message of the first one.
    pub fn if_reported(list: &ResourceList, from: usize) -> Result<(), Self> {
        let is_error = |item: &&ResultItem| item.severity == Some(Severity::Error);
        match list.results.iter().skip(from).find(is_error) {
            Some(item) => Err(Self { message: item.message.clone() }),
            None => Ok(()),
        }
    }
}

/// What users should know about a function.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// What it is for, in a few sentences.
    pub purpose: &'static str,
    /// The fields of its configuration.
    pub config: &'static [Field],
    /// A configuration, as YAML; empty when there is none.
    pub example: &'static str,
    /// Where it differs from the function of the same name in the public catalog.
    pub deviations: &'static [Deviation],
}

/// A field of a function's configuration.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Where it stands.
    pub path: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A difference from the function of the same name in the public catalog.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// What the other one does.
    pub there: &'static str,
    /// What this one does, and why.
    pub here: &'static str,
    /// The fixtures that show it, one at least.
    pub fixtures: &'static [&'static str],
}
