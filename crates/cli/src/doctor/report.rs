//! What was found, for people and programs.

use std::fmt;

use serde_json::{Value, json};

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As it should be.
    Ok,
    /// Something does not work, and much else does.
    Warning,
    /// It will not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub name: &'static str,
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub mend: Option<String>,
}

/// All that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Check>);

impl Check {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), mend: None }
    }

    pub fn warning(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: State::Warning, found: found.into(), mend: Some(mend.into()) }
    }

    pub fn problem(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: State::Problem, found: found.into(), mend: Some(mend.into()) }
    }
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

impl Report {
    pub fn add(&mut self, checks: impl IntoIterator<Item = Check>) {
        self.0.extend(checks);
    }

    pub fn problems(&self) -> usize {
        self.count(State::Problem)
    }

    fn count(&self, state: State) -> usize {
        self.0.iter().filter(|check| check.state == state).count()
    }

    pub fn to_json(&self) -> Value {
        let check = |check: &Check| json!({"name": check.name, "state": check.state.word(), "found": check.found, "mend": check.mend});
        json!({
            "problems": self.problems(), "warnings": self.count(State::Warning),
            "checks": self.0.iter().map(check).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.0 {
            let found = check.found.split_whitespace().collect::<Vec<_>>().join(" ");
            write!(f, "{:<8} {}: {found}", check.state.word(), check.name)?;
            match &check.mend {
                Some(mend) => writeln!(f, "; {mend}")?,
                None => writeln!(f)?,
            }
        }
        let (problems, warnings) = (self.problems(), self.count(State::Warning));
        writeln!(f, "{problems} problem(s), {warnings} warning(s)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_line() {
        let mut report = Report::default();
        report.add([Check::ok("git", "2.39"), Check::problem("clock", "it is\nwrong", "set it")]);
        assert_eq!(
            report.to_string(),
            "ok       git: 2.39\nproblem  clock: it is wrong; set it\n1 problem(s), 0 warning(s)\n"
        );
        assert_eq!(report.to_json()["checks"][1]["mend"], "set it");
    }
}
