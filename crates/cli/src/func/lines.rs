//! What is told about a run, in kpt's words.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use lanai_krm::ResultItem;
use lanai_krm::result::ResourceRef;
use lanai_render::{Event, Running};
use lanai_types::quote::Quoted;

/// Makes lines of what happens.
#[derive(Debug)]
pub(super) struct Lines {
    since: Instant,
}

impl Lines {
    pub fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// The lines about something that happened, each with its line break.
    pub fn about(&mut self, event: &Event<'_>) -> String {
        match event {
            Event::Package { name } => format!("Package {}:\n", Quoted(name)),
            Event::Running(running) => {
                self.since = Instant::now();
                begin(running)
            }
            Event::Skipped { function, when } => {
                format!("[SKIPPED] {} (condition {} is false)\n", Quoted(function.as_str()), Quoted(when))
            }
            Event::Passed { function, results, stderr } => {
                let took = spelled(self.since.elapsed());
                let mut lines = format!("[PASS] {} in {took}\n", Quoted(function.as_str()));
                push_results(&mut lines, results, Files::Left);
                push_stderr(&mut lines, stderr);
                lines
            }
            Event::Failed { function, results, stderr, exit_code, .. } => {
                let took = spelled(self.since.elapsed());
                let mut lines = format!("[FAIL] {} in {took}\n", Quoted(function.as_str()));
                push_results(&mut lines, results, Files::Named);
                push_stderr(&mut lines, stderr);
                if let Some(code) = exit_code {
                    let _ = writeln!(lines, "  Exit code: {code}");
                }
                lines
            }
            Event::PackageDone => "\n".to_owned(),
        }
    }
}

fn begin(running: &Running<'_>) -> String {
    let mut line = format!("[RUNNING] {}", Quoted(running.function.as_str()));
    if let Some(count) = running.selected {
        let _ = write!(line, " on {count} resource(s)");
    }
    if let Some(package) = running.package {
        let _ = write!(line, " on package {}", Quoted(package));
    }
    line + "\n"
}

/// Whether results name the files that they are about. kpt never does; somebody whose render failed wants to know.
#[derive(Clone, Copy)]
enum Files {
    Left,
    Named,
}

fn push_results(lines: &mut String, results: &[ResultItem], files: Files) {
    if results.is_empty() {
        return;
    }
    lines.push_str("  [Results]:\n");
    for result in results {
        let file = match (files, &result.file) {
            (Files::Named, Some(file)) if !file.path.is_empty() => format!(" (in {})", file.path),
            (Files::Named | Files::Left, _) => String::new(),
        };
        let _ = writeln!(lines, "    {}{file}", shown(result));
    }
}

/// A result on one line.
fn shown(result: &ResultItem) -> String {
    let severity = result.severity.as_ref().map_or("info", |severity| severity.as_str());
    let message = result.message.split('\n').collect::<Vec<_>>().join(" ");
    let mut about = Vec::new();
    about.extend(result.resource_ref.as_ref().and_then(reference));
    about.extend(result.field.as_ref().map(|field| field.path.clone()).filter(|path| !path.is_empty()));
    if about.is_empty() {
        format!("[{severity}]: {message}")
    } else {
        format!("[{severity}] {}: {message}", about.join(" "))
    }
}

fn reference(of: &ResourceRef) -> Option<String> {
    let parts = [&of.api_version, &of.kind, &of.namespace, &of.name].into_iter();
    let parts: Vec<&str> = parts.map(String::as_str).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn push_stderr(lines: &mut String, stderr: &str) {
    if stderr.is_empty() {
        return;
    }
    lines.push_str("  Stderr:\n");
    for line in stderr.trim_end_matches('\n').split('\n') {
        let _ = writeln!(lines, "    {}", line.trim());
    }
}

/// A duration as Go spells it, cut to milliseconds.
fn spelled(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 1_000 {
        return if millis == 0 { "0s".to_owned() } else { format!("{millis}ms") };
    }
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = format!("{}.{:03}", rest / 1_000, rest % 1_000);
    let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelled_as_in_go() {
        for (millis, text) in [
            (0, "0s"),
            (7, "7ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_250, "1.25s"),
            (60_000, "1m0s"),
            (3_723_004, "1h2m3.004s"),
        ] {
            assert_eq!(spelled(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn results_are_shown_as_far_as_they_say_something() {
        let mut result = ResultItem { message: "two\nlines".to_owned(), ..ResultItem::default() };
        assert_eq!(shown(&result), "[info]: two lines");
        result.resource_ref = Some(ResourceRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: "c".to_owned(),
            ..ResourceRef::default()
        });
        assert_eq!(shown(&result), "[info] v1/ConfigMap/c: two lines");
        result.field = Some(lanai_krm::result::Field { path: "data.a".to_owned(), ..Default::default() });
        assert_eq!(shown(&result), "[info] v1/ConfigMap/c data.a: two lines");
    }
}
