//! A walk over a resource: where it is, and what it found.

use std::fmt;

use crate::limits::Limits;

/// Something that is wrong with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field: keys and indexes with dots between them. Empty for the resource itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// What to do with fields that a schema does not know, and with keys that stand twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// They are passed over.
    #[default]
    Accepted,
    /// They are findings.
    Refused,
}

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It does.
    Going,
    /// There are as many findings as there may be.
    Full,
    /// It took as many steps as it may.
    Spent,
}

/// A walk over a resource.
pub(crate) struct Walk<'l> {
    limits: &'l Limits,
    unknown: UnknownFields,
    path: String,
    depth: usize,
    visits: usize,
    max_findings: usize,
    findings: Vec<Finding>,
    state: State,
}

impl<'l> Walk<'l> {
    /// A walk that begins.
    pub fn new(unknown: UnknownFields, limits: &'l Limits) -> Self {
        Self {
            limits,
            unknown,
            path: String::new(),
            depth: 0,
            visits: 0,
            max_findings: limits.max_findings,
            findings: Vec::new(),
            state: State::Going,
        }
    }

    /// What to do with fields that a schema does not know.
    pub fn unknown(&self) -> UnknownFields {
        self.unknown
    }

    /// Where it is.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Takes a step; `false` when the walk is over.
    pub fn step(&mut self) -> bool {
        if self.state != State::Going {
            return false;
        }
        if self.visits == self.limits.max_visits {
            self.state = State::Spent;
            return false;
        }
        self.visits += 1;
        true
    }

    /// Adds a finding about the field where the walk is.
    pub fn report(&mut self, message: impl Into<String>) {
        if self.state != State::Going {
            return;
        }
        if self.findings.len() == self.max_findings {
            self.state = State::Full;
            return;
        }
        self.findings.push(Finding { path: self.path.clone(), message: message.into() });
    }

    /// Goes to a field, or an item, and back.
    pub fn below(&mut self, step: &str, look: impl FnOnce(&mut Self)) {
        if self.state != State::Going {
            return;
        }
        let here = self.path.len();
        if here > 0 {
            self.path.push('.');
        }
        self.path.push_str(step);
        if self.depth == self.limits.max_depth {
            self.report(format!("stands deeper than {} levels, and was not checked", self.limits.max_depth));
        } else {
            self.depth += 1;
            look(self);
            self.depth -= 1;
        }
        self.path.truncate(here);
    }

    /// Whether nothing is found. What is found is forgotten.
    pub fn holds(&mut self, look: impl FnOnce(&mut Self)) -> bool {
        let found = std::mem::take(&mut self.findings);
        let max = std::mem::replace(&mut self.max_findings, 0);
        look(self);
        // A single report fills a walk that may have none.
        let holds = self.state != State::Full;
        if !holds {
            self.state = State::Going;
        }
        self.findings = found;
        self.max_findings = max;
        holds
    }

    /// What was found, in the order of the walk, each field before what is in it.
    pub fn end(mut self) -> Vec<Finding> {
        let limits = self.limits;
        let why = match self.state {
            State::Going => return self.findings,
            State::Full => format!("there is more: only the first {} are listed", limits.max_findings),
            State::Spent => {
                format!(
                    "has more than {} values to look at, and was not checked to the end",
                    limits.max_visits
                )
            }
        };
        self.findings.push(Finding { path: String::new(), message: why });
        self.findings
    }
}
