//! Porch's own code, in a process that does what it is told (`tests/porch`).

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::agree::Listed;

/// The environment variable that names the program; `scripts/oracle-porch.sh` builds it.
const PROGRAM: &str = "LANAI_PORCH";

pub(super) struct Porch {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// Where a repository is for Porch, and as whom it is used.
pub(super) struct Door<'a> {
    pub(super) url: &'a str,
    pub(super) branch: &'a str,
    pub(super) directory: &'a str,
    /// Fields of the order that are set beside these.
    pub(super) more: Value,
}

impl Porch {
    /// `None`, and said so, where the program is not there.
    pub(super) fn start(test: &str) -> Option<Self> {
        let Some(program) = std::env::var_os(PROGRAM) else {
            let why =
                format!("{PROGRAM} names no program; make oracle builds it where LANAI_PORCH_SOURCE is set");
            lanai_testkit::skip(&format!("repository::packages::porch::{test}"), &why);
            return None;
        };
        #[allow(clippy::disallowed_methods, reason = "the judge is Porch itself")]
        let mut child = Command::new(program)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Porch starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it has an output"));
        Some(Self { child, input, output })
    }

    /// What Porch answers, or says is wrong.
    fn ask(&mut self, order: &Value) -> Result<Value, String> {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{order}").expect("Porch reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("Porch answers");
        let mut answer: Value = serde_json::from_str(&line).expect("Porch answers in JSON");
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["done"].take()),
        }
    }

    fn tell(&mut self, order: &Value) -> Value {
        let answer = self.ask(order);
        assert!(answer.is_ok(), "{order}: {answer:?}");
        answer.unwrap_or_default()
    }

    pub(super) fn open(&mut self, door: &Door) {
        let mut order = json!({
            "do": "open", "url": door.url, "branch": door.branch, "directory": door.directory, "user": "ann@example.com",
        });
        for (name, value) in door.more.as_object().into_iter().flatten() {
            order[name] = value.clone();
        }
        self.tell(&order);
    }

    /// An order about one revision, without content.
    pub(super) fn order(&mut self, what: &str, package: &str, workspace: &str) -> Value {
        self.tell(&json!({"do": what, "package": package, "workspace": workspace}))
    }

    /// An order about one revision with content: a Kptfile and a file with the text.
    pub(super) fn write(
        &mut self,
        what: &str,
        package: &str,
        workspace: &str,
        text: &str,
        task: &Value,
    ) -> Value {
        let name = package.rsplit('/').next().unwrap_or_default();
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n  labels:\n    text: {text}\n\
             info:\n  readinessGates:\n    - conditionType: tried\n\
             status:\n  conditions:\n    - type: tried\n      status: \"True\"\n      reason: Luck\n"
        );
        let resources = json!({"Kptfile": kptfile, "sub/notes.txt": format!("{text}\n")});
        self.tell(&json!({
            "do": what, "package": package, "workspace": workspace, "resources": resources, "task": task,
        }))
    }

    pub(super) fn list(&mut self) -> Vec<Listed> {
        let listed = self.tell(&json!({"do": "list"}));
        serde_json::from_value(listed).expect("a listing")
    }
}

impl Drop for Porch {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
