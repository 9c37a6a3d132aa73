//! Lines to copy.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::seed::Made;
use crate::world::{BROKEN, UPGRADE, setters, upgrade_with};

/// Which programs the reader has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// Whether kubectl is there.
    pub kubectl: bool,
    /// Whether git is there.
    pub git: bool,
    /// The folder of this program, where typing its name does not find it.
    pub folder: Option<PathBuf>,
}

/// The tour of one world.
#[derive(Debug)]
pub struct Tour {
    folder: PathBuf,
    tools: Tools,
}

/// A stop of the tour: what is to be seen, and the lines that show it.
struct Stop {
    says: &'static str,
    lines: Vec<String>,
}

/// The patch that mends the draft that does not render.
const MEND: &str = "mend-checkout.yaml";
/// The upgrade again, with a decision.
const DECIDED: &str = "upgrade-shop.yaml";

impl Tour {
    /// Writes the files that the tour needs into the folder `tour` of the world's folder.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn prepare(folder: &Path, made: &Made, tools: Tools) -> std::io::Result<Self> {
        let files = folder.join("tour");
        std::fs::create_dir_all(&files)?;
        let mend = json!({"spec": {"resources": {"setters.yaml": setters("checkout", "1", "1.29")}}});
        std::fs::write(files.join(MEND), pretty(&mend))?;
        let resolutions: Vec<_> =
            made.conflicts.iter().map(|id| json!({"id": id, "take": "local"})).collect();
        std::fs::write(files.join(DECIDED), pretty(&upgrade_with(&resolutions.into())))?;
        Ok(Self { folder: folder.to_owned(), tools })
    }

    fn stops(&self) -> Vec<Stop> {
        let place = |below: &str| shell(&self.folder.join(below));
        let mut talk = vec![format!(
            "export KUBECONFIG={} KUBECACHEDIR={}",
            place("kubeconfig"),
            place("kubectl-cache")
        )];
        if let Some(folder) = &self.tools.folder {
            talk.push(format!("export PATH={}:\"$PATH\"", shell(folder)));
        }
        let mut stops = vec![Stop { says: "Talk to this server", lines: talk }];
        if self.tools.kubectl {
            stops.extend(self.kubectl());
        }
        if self.tools.git {
            stops.push(Stop {
                says: "All of it is in Git",
                lines: vec![format!("git -C {} log --all --oneline", place("repositories/production.git"))],
            });
        }
        stops
    }

    fn kubectl(&self) -> Vec<Stop> {
        let place = |below: &str| shell(&self.folder.join("tour").join(below));
        let stop = |says, lines: &[String]| Stop { says, lines: lines.to_vec() };
        vec![
            stop(
                "Three Git repositories, and the package revisions in them",
                &["kubectl get repositories".to_owned(), "kubectl get packagerevisions".to_owned()],
            ),
            stop(
                "A draft that does not render: a policy of its blueprint wants images with a version",
                &[
                    format!(
                        "kubectl get packagerevisionresources {BROKEN} -o jsonpath='{{range .status.renderStatus.result.items[*].results[?(@.severity==\"error\")]}}{{.message}}{{\"\\n\"}}{{end}}'"
                    ),
                    format!(
                        "kubectl patch packagerevisionresources {BROKEN} --type merge --patch-file {}",
                        place(MEND)
                    ),
                ],
            ),
            stop(
                "Propose it, and publish it",
                &[
                    format!(
                        "kubectl patch packagerevision {BROKEN} --type merge -p '{{\"spec\":{{\"lifecycle\":\"Proposed\"}}}}'"
                    ),
                    format!(
                        "kubectl patch packagerevision {BROKEN} --subresource approval --type merge -p '{{\"spec\":{{\"lifecycle\":\"Published\"}}}}'"
                    ),
                ],
            ),
            stop(
                "An upgrade in which both sides changed the same: the server says so, and which side it took",
                &[format!(
                    "kubectl get packagerevision {UPGRADE} -o jsonpath='{{range .status.conflicts[*]}}{{.id}}: was {{.original}}, upstream {{.upstream}}, ours {{.local}}, taken: {{.chosen}}{{\"\\n\"}}{{end}}'"
                )],
            ),
            stop(
                "The same upgrade, with our number kept",
                &[
                    format!("kubectl delete packagerevision {UPGRADE}"),
                    format!("kubectl create -f {}", place(DECIDED)),
                    format!(
                        "kubectl get packagerevisionresources {UPGRADE} -o jsonpath='{{.spec.resources.setters\\.yaml}}'"
                    ),
                ],
            ),
        ]
    }

    /// All lines to type, without the words between them.
    pub fn lines(&self) -> Vec<String> {
        self.stops().into_iter().flat_map(|stop| stop.lines).collect()
    }
}

impl fmt::Display for Tour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, stop) in self.stops().iter().enumerate() {
            writeln!(f, "# {}. {}", number + 1, stop.says)?;
            for line in &stop.lines {
                writeln!(f, "{line}")?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// A path as a shell takes it.
fn shell(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// JSON is YAML, too.
fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        let check = |path: &str, expected: &str| assert_eq!(shell(Path::new(path)), expected);
        check("/tmp/lanai-demo.1", "/tmp/lanai-demo.1");
        check("/my files/it's", "'/my files/it'\\''s'");
        check("/a$b", "'/a$b'");
    }
}
