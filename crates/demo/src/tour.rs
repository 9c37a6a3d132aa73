//! Lines to copy.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use crate::world::{BROKEN, LOCAL, UPGRADE};

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

/// The upgrade that the tour makes.
const DECIDED: &str = "production.shop.v3";

/// A stop of the tour: what is to be seen, and the lines that show it.
struct Stop {
    says: &'static str,
    lines: Vec<String>,
}

impl Tour {
    /// Makes the folder `tour` in the world's folder, in which the tour puts its files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn prepare(folder: &Path, tools: Tools) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder.join("tour"))?;
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
        stops.extend(self.packages());
        if self.tools.kubectl {
            stops.push(Stop {
                says: "It is a Kubernetes API: kubectl works as well",
                lines: vec![
                    "kubectl get packagerevisions".to_owned(),
                    format!(
                        "kubectl get packagerevision {UPGRADE} -o jsonpath='{{range .status.conflicts[*]}}{{.id}}: was {{.original}}, upstream {{.upstream}}, ours {{.local}}, taken: {{.chosen}}{{\"\\n\"}}{{end}}'"
                    ),
                ],
            });
        }
        if self.tools.git {
            stops.push(Stop {
                says: "All of it is in Git",
                lines: vec![format!("git -C {} log --all --oneline", place("repositories/production.git"))],
            });
        }
        stops
    }

    fn packages(&self) -> Vec<Stop> {
        let place = |below: &str| shell(&self.folder.join("tour").join(below));
        let (checkout, conflicts) = (place("checkout"), place("conflicts.yaml"));
        let setters = place("checkout/setters.yaml");
        let stop = |says, lines: &[String]| Stop { says, lines: lines.to_vec() };
        vec![
            stop(
                "Three Git repositories, and the package revisions in them",
                &["lanai repo get".to_owned(), "lanai rpkg get".to_owned()],
            ),
            stop(
                "A draft that does not render: a policy of its blueprint wants images with a version",
                &[
                    format!("lanai rpkg pull {BROKEN} {checkout}"),
                    format!("lanai rpkg push {BROKEN} {checkout} --dry-run"),
                ],
            ),
            stop(
                "Mend it, propose it, and publish it",
                &[
                    format!("lanai yaml set {setters} data.tag '\"1.29\"' --diff"),
                    format!("lanai rpkg push {BROKEN} {checkout}"),
                    format!("lanai rpkg propose {BROKEN}"),
                    format!("lanai rpkg approve {BROKEN}"),
                ],
            ),
            stop(
                "What could be upgraded; in one package both sides changed the same",
                &[
                    "lanai rpkg upgrade --all".to_owned(),
                    format!("lanai rpkg upgrade {LOCAL} --dry-run -o yaml | tee {conflicts}"),
                ],
            ),
            stop(
                "Upgrade it with our number kept, and see who set what",
                &[
                    format!("sed -i 's/chosen: upstream/chosen: local/' {conflicts}"),
                    format!("lanai rpkg upgrade {LOCAL} --resolve {conflicts} --workspace v3"),
                    format!("lanai rpkg blame {DECIDED} setters.yaml"),
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
