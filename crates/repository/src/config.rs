//! Git's configuration, as far as transfers go.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix_config::File;
use gix_config::Source;
use gix_config::file::{Metadata, includes, init};

use crate::caller::{Caller, Person};
use crate::url::Http;
use crate::{Environment, Error, Options};

/// Git's configuration of the system and of the user, with the environment on top.
#[derive(Debug)]
pub(crate) struct Config {
    entries: Vec<Entry>,
    home: Option<PathBuf>,
    environment: Environment,
    caller: Caller,
    /// What the person typed and a server accepted: nobody is asked twice.
    typed: Mutex<Vec<Typed>>,
}

/// A user name and a password that somebody typed, and the server that they are for.
#[derive(Clone)]
pub(crate) struct Typed {
    pub(crate) server: String,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed").field("server", &self.server).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Entry {
    section: String,
    subsection: Option<String>,
    key: String,
    value: String,
}

impl Config {
    /// Reads the files that Git reads outside of a repository, and their includes: those with a condition by where the caller is.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub(crate) fn load(options: &Options, caller: &Caller) -> Result<Self, Error> {
        let mut config = Self {
            entries: Vec::new(),
            home: options.home.clone(),
            environment: options.environment.clone(),
            caller: caller.clone(),
            typed: Mutex::default(),
        };
        for (source, path) in config.files() {
            config.add_file(source, path)?;
        }
        config.add_environment();
        Ok(config)
    }

    fn files(&self) -> Vec<(Source, PathBuf)> {
        let mut files = Vec::new();
        if !self.variable("GIT_CONFIG_NOSYSTEM").is_some_and(is_true) {
            let system = self.variable("GIT_CONFIG_SYSTEM").unwrap_or(OsStr::new("/etc/gitconfig"));
            files.push((Source::System, PathBuf::from(system)));
        }
        if let Some(global) = self.variable("GIT_CONFIG_GLOBAL") {
            files.push((Source::User, PathBuf::from(global)));
            return files;
        }
        let configuration = self.variable("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let configuration = configuration.map(PathBuf::from);
        let configuration = configuration.or_else(|| Some(self.home.as_ref()?.join(".config")));
        files.extend(configuration.map(|folder| (Source::Git, folder.join("git/config"))));
        files.extend(self.home.as_ref().map(|home| (Source::User, home.join(".gitconfig"))));
        files
    }

    fn add_file(&mut self, source: Source, path: PathBuf) -> Result<(), Error> {
        if !path.is_file() {
            return Ok(());
        }
        let home = self.home.clone();
        let interpolate =
            gix_config::path::interpolate::Context { home_dir: home.as_deref(), ..Default::default() };
        let repository = self.caller.repository.clone().unwrap_or_default();
        let conditional = includes::conditional::Context {
            git_dir: self.caller.repository.is_some().then_some(repository.git_dir.as_path()),
            branch_name: repository.head.as_ref().map(gix_ref::FullName::as_ref),
        };
        let includes = includes::Options::follow(interpolate, conditional);
        let includes = includes::Options { err_on_max_depth_exceeded: true, ..includes };
        let options = init::Options { includes, lossy: true, ignore_io_errors: false };
        let metadata = Metadata::from(source).at(path.clone());
        let file = File::from_paths_metadata([metadata], options).map_err(|cause| Error::File {
            what: "cannot read git's configuration",
            path,
            cause: crate::error::chain(&cause),
        })?;
        for section in file.iter().flat_map(File::sections) {
            let names: BTreeSet<_> = section.value_names().collect();
            let subsection = section.header().subsection_name().map(ToString::to_string);
            for name in names {
                self.entries.extend(section.values(&name).iter().map(|value| Entry {
                    section: section.header().name().to_string().to_lowercase(),
                    subsection: subsection.clone(),
                    key: name.to_lowercase(),
                    value: value.to_string(),
                }));
            }
        }
        Ok(())
    }

    /// `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on.
    fn add_environment(&mut self) {
        let count = self.text_variable("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
        for number in 0..count.min(MAX_ENTRIES) {
            let name = self.text_variable(&format!("GIT_CONFIG_KEY_{number}"));
            let value = self.text_variable(&format!("GIT_CONFIG_VALUE_{number}"));
            let Some((name, value)) = name.zip(value) else { continue };
            let Some((section, rest)) = name.split_once('.') else { continue };
            let (subsection, key) = match rest.rsplit_once('.') {
                Some((subsection, key)) => (Some(subsection.to_owned()), key),
                None => (None, rest),
            };
            let (section, key) = (section.to_lowercase(), key.to_lowercase());
            self.entries.push(Entry { section, subsection, key, value });
        }
    }

    /// A variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A variable of the environment that is not empty, as text.
    pub(crate) fn text_variable(&self, name: &str) -> Option<String> {
        let value = self.variable(name)?.to_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// What was typed for a server before, and accepted.
    pub(crate) fn typed(&self, server: &str, user: Option<&str>) -> Option<Typed> {
        let typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |login: &&Typed| login.server == server && user.is_none_or(|user| user == login.user);
        typed.iter().find(fits).cloned()
    }

    /// Remembers what was typed.
    pub(crate) fn remember(&self, login: Typed) {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner).push(login);
    }

    /// The person who can be asked, if there is one.
    pub(crate) fn person(&self) -> Option<&dyn Person> {
        self.caller.person.as_deref()
    }

    /// The environment for programs that are started: ours, with all asking switched off where there is nobody to ask.
    pub(crate) fn environment_of_programs(&self) -> Environment {
        let mut environment = self.environment.clone();
        if self.caller.person.is_none() {
            environment.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
            environment.insert("GCM_INTERACTIVE".into(), "never".into());
        }
        if let Some(home) = &self.home {
            environment.entry("HOME".into()).or_insert_with(|| home.clone().into());
        }
        environment
    }

    /// The last value of a key in a section without a subsection.
    pub(crate) fn value(&self, section: &str, key: &str) -> Option<&str> {
        let entries =
            self.entries.iter().filter(|entry| entry.section == section && entry.subsection.is_none());
        entries.filter(|entry| entry.key == key).map(|entry| entry.value.as_str()).next_back()
    }

    /// The value of a key for an address: that of the section whose pattern fits best, the last of equals.
    pub(crate) fn value_for(&self, section: &str, key: &str, url: &Http) -> Option<&str> {
        let fitting = self.fitting(section, key, url).into_iter();
        fitting.max_by_key(|(fit, _)| *fit).map(|(_, value)| value)
    }

    /// All values of a key for an address, in the order in which they are written; an empty one takes back those before.
    pub(crate) fn values_for(&self, section: &str, key: &str, url: &Http) -> Vec<&str> {
        let mut values = Vec::new();
        for (_, value) in self.fitting(section, key, url) {
            if value.is_empty() {
                values.clear();
            } else {
                values.push(value);
            }
        }
        values
    }

    fn fitting(&self, section: &str, key: &str, url: &Http) -> Vec<(Fit, &str)> {
        let entries = self.entries.iter().filter(|entry| entry.section == section && entry.key == key);
        let fitting = entries.filter_map(|entry| {
            let pattern = entry.subsection.as_deref();
            let fit = pattern.map_or(Some(Fit::default()), |pattern| fit(pattern, url))?;
            Some((fit, entry.value.as_str()))
        });
        fitting.collect()
    }

    /// The address that stands for this one by `url.<base>.insteadOf`; the longest beginning that fits counts.
    pub(crate) fn rewritten(&self, raw: &str) -> Option<String> {
        let entries = self.entries.iter().filter(|entry| entry.section == "url" && entry.key == "insteadof");
        let fitting = entries.filter(|entry| !entry.value.is_empty() && raw.starts_with(&entry.value));
        let best = fitting.max_by_key(|entry| entry.value.len())?;
        let base = best.subsection.as_deref()?;
        Some(format!("{base}{}", &raw[best.value.len()..]))
    }

    /// A path of the configuration, with the home folder in place of a tilde.
    pub(crate) fn path(&self, value: &str) -> PathBuf {
        match (value.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new(value).to_owned(),
        }
    }
}

/// The most entries that are taken from the environment.
const MAX_ENTRIES: usize = 10_000;

/// Whether a value means yes, as Git reads it.
pub(crate) fn is_true(value: impl AsRef<OsStr>) -> bool {
    let value = value.as_ref().to_string_lossy().to_lowercase();
    matches!(value.as_str(), "true" | "yes" | "on") || value.parse::<i64>().is_ok_and(|number| number != 0)
}

/// How well a pattern fits an address: better ones are larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    host: usize,
    path: usize,
    user: usize,
}

/// Whether the pattern, an address whose host may have stars for single labels, covers the address.
fn fit(pattern: &str, url: &Http) -> Option<Fit> {
    let rest = pattern.strip_prefix(url.scheme)?.strip_prefix("://")?;
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let (user, authority) = match authority.rsplit_once('@') {
        Some((user, authority)) => (Some(user), authority),
        None => (None, authority),
    };
    if user.is_some() && user != url.user.as_deref() {
        return None;
    }
    let default_port = if url.scheme == "https" { ":443" } else { ":80" };
    let bare = |authority: &str| authority.strip_suffix(default_port).unwrap_or(authority).to_lowercase();
    let (wanted, is) = (bare(authority), bare(&url.authority));
    let (wanted, is): (Vec<_>, Vec<_>) = (wanted.split('.').collect(), is.split('.').collect());
    let covers =
        wanted.len() == is.len() && wanted.iter().zip(&is).all(|(wanted, is)| *wanted == "*" || wanted == is);
    let path = path.trim_end_matches('/');
    let below = url.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let host = 1 + wanted.iter().filter(|label| **label != "*").count();
    (covers && below).then_some(Fit { host, path: path.len(), user: usize::from(user.is_some()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Place;

    fn http(url: &str) -> Http {
        match url.parse::<crate::RemoteUrl>().unwrap().place() {
            Place::Http(http) => http.clone(),
            Place::Local(_) | Place::Ssh(_) => panic!("{url}"),
        }
    }

    #[test]
    fn patterns_cover_addresses_as_git_says() {
        let url = http("https://ann@git.example.com/team/repo.git");
        for yes in [
            "https://git.example.com",
            "https://git.example.com/",
            "https://git.example.com:443/team",
            "https://ann@git.example.com/team/repo.git",
            "https://*.example.com",
        ] {
            assert!(fit(yes, &url).is_some(), "{yes}");
        }
        for no in [
            "http://git.example.com",
            "https://example.com",
            "https://*.com",
            "https://git.example.com:8443",
            "https://bob@git.example.com",
            "https://git.example.com/tea",
            "git.example.com",
        ] {
            assert!(fit(no, &url).is_none(), "{no}");
        }
        assert!(fit("https://git.example.com/team", &url) > fit("https://git.example.com", &url));
        assert!(fit("https://git.example.com", &url) > fit("https://*.example.com/team", &url));
    }
}
