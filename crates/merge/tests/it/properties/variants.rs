//! Three pods out of bytes, with probes and variables of which there is one kind at a time, in block style or in one line.

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::Limits;

use super::choices::Choices;
use super::merging::hold;

const PROBES: [&str; 6] = [
    "",
    "httpGet: {path: /, port: 80}",
    "httpGet: {path: /healthz, port: 80}",
    "tcpSocket: {port: 80}",
    "exec: {command: [a]}",
    "grpc: {port: 9}",
];
const VARIABLES: [&str; 8] = [
    "",
    "value: a",
    "value: b",
    "valueFrom: {fieldRef: {fieldPath: a}}",
    "valueFrom: {fieldRef: {fieldPath: b}}",
    "valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}",
    "valueFrom: {secretKeyRef: {key: k, name: s}}",
    "valueFrom: {configMapKeyRef: {key: k, name: c}}",
];
const BUDGETS: [&str; 4] = ["", "minAvailable: 1", "minAvailable: 2", "maxUnavailable: 1"];
const COMMENTS: [&str; 3] = ["", " # one", " # two"];

/// Any bytes: what holds for all packages.
pub fn merge(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let original = Pod::new(&mut choices);
    let upstream = original.edited(&mut choices, Style::Block);
    let style = choices.of(&[Style::Block, Style::OneLine]);
    let local = original.edited(&mut choices, style);
    let [original, upstream, local] = [original, upstream, local].map(Pod::package);
    hold([&original, &upstream, &local], &mut choices);
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Block,
    /// Probes and variables between brackets, where no comment can stand.
    OneLine,
}

/// Numbers are places in the tables above.
#[derive(Clone, Copy)]
struct Pod {
    style: Style,
    probe: usize,
    period: usize,
    comment: usize,
    variable: usize,
    budget: usize,
}

impl Pod {
    fn new(choices: &mut Choices<'_>) -> Self {
        Self {
            style: Style::Block,
            probe: choices.below(PROBES.len()),
            period: choices.below(2),
            comment: choices.below(COMMENTS.len()),
            variable: choices.below(VARIABLES.len()),
            budget: choices.below(BUDGETS.len()),
        }
    }

    fn edited(mut self, choices: &mut Choices<'_>, style: Style) -> Self {
        let other = Self::new(choices);
        for _ in 0..=choices.below(3) {
            match choices.below(5) {
                0 => self.probe = other.probe,
                1 => self.period = other.period,
                2 => self.comment = other.comment,
                3 => self.variable = other.variable,
                _ => self.budget = other.budget,
            }
        }
        Self { style, ..self }
    }

    fn package(self) -> Package {
        let (probe, variable) = (PROBES[self.probe], VARIABLES[self.variable]);
        let (period, comment) = (self.period + 1, COMMENTS[self.comment]);
        let body = match self.style {
            Style::Block => {
                let line = |indent: &str, text: &str| {
                    if text.is_empty() { String::new() } else { format!("{indent}{text}\n") }
                };
                format!(
                    "    livenessProbe:\n      periodSeconds: {period}{comment}\n{}    env:\n    - name: 1\n{}",
                    line("      ", probe),
                    line("      ", variable)
                )
            }
            Style::OneLine => {
                let more = |text: &str| if text.is_empty() { String::new() } else { format!(", {text}") };
                format!(
                    "    livenessProbe: {{periodSeconds: {period}{}}}\n    env: [{{name: 1{}}}]\n",
                    more(probe),
                    more(variable)
                )
            }
        };
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: 1\n{body}"
        );
        let budget = format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: a\nspec:\n  selector: {{}}\n  {}\n",
            BUDGETS[self.budget]
        );
        let files = [("pod.yaml", pod), ("budget.yaml", budget)];
        let files = files.map(|(path, text)| (path, File::from_text(text)));
        Package::from_entries(files, Limits::default()).expect("a small package")
    }
}
