//! Repositories that git makes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A repository with a work tree, in a folder that goes away.
pub(crate) struct Repository {
    folder: TempDir,
}

/// Runs git without the configuration of this machine and returns what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    #[allow(clippy::disallowed_methods, reason = "the judge is git itself")]
    let mut child = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always", "-c", "core.autocrlf=false"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Ann")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "ann@example.com")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_DATE"), "1700000000 +0000")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git starts");
    child.stdin.take().expect("git has an input").write_all(input).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs git and says whether it worked.
pub(crate) fn git_works(folder: &Path, arguments: &[&str]) -> bool {
    #[allow(clippy::disallowed_methods, reason = "somebody else uses git itself")]
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("git starts").success()
}

impl Repository {
    /// An empty repository whose default branch is `main`.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        git(folder.path(), &["init", "--quiet", "--initial-branch=main"], b"");
        Self { folder }
    }

    /// A repository with one commit of these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        repository.commit(files);
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self) -> String {
        self.path().to_str().expect("a temporary folder has a plain name").to_owned()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments, b"")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Writes files and commits all that there is; returns the commit.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            self.write(path, text);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "a change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A commit of a tree that is written entry by entry, as no git would: mode, kind, id and name.
    pub(crate) fn commit_raw_tree(&self, entries: &[(&str, &str, &[u8])]) -> String {
        let mut tree = Vec::new();
        for (mode, id, name) in entries {
            tree.extend_from_slice(mode.as_bytes());
            tree.push(b' ');
            tree.extend_from_slice(name);
            tree.push(0);
            let digits = id.as_bytes().chunks_exact(2);
            tree.extend(digits.map(|pair| {
                let pair = std::str::from_utf8(pair).expect("an id has digits");
                u8::from_str_radix(pair, 16).expect("an id has digits")
            }));
        }
        let tree = git(self.path(), &["hash-object", "-w", "--literally", "-t", "tree", "--stdin"], &tree);
        self.git(&["commit-tree", &tree, "-m", "raw"])
    }

    pub(crate) fn blob(&self, text: &str) -> String {
        git(self.path(), &["hash-object", "-w", "--stdin"], text.as_bytes())
    }

    /// A bare copy of the repository.
    pub(crate) fn bare(&self, at: &Path) -> PathBuf {
        let target = at.join("bare.git");
        let target_text = target.to_str().expect("a temporary folder has a plain name");
        git(at, &["clone", "--quiet", "--bare", &self.url(), target_text], b"");
        target
    }
}
