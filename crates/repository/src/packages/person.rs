//! Who makes commits.

use std::fmt;

/// A name and an address for commits. Cannot hold what would break a commit: `<`, `>`, line ends, NUL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Person {
    name: String,
    email: String,
}

impl Person {
    /// A person; characters that a commit cannot hold are left out.
    pub fn new(name: &str, email: &str) -> Self {
        Self { name: cleaned(name), email: cleaned(email) }
    }

    /// A user of the API, whose name stands for both.
    pub fn user(name: &str) -> Self {
        Self::new(name, name)
    }

    /// Who commits whatever is committed, and is the author where nobody else is.
    pub fn orchestrator() -> Self {
        Self::new("Package Orchestration Service", "porch@kpt.dev")
    }

    /// The author that a repository sets: a name without an address keeps it empty, an address without a name is both.
    /// `None` where it sets neither.
    pub fn of_repository(author: Option<&str>, email: Option<&str>) -> Option<Self> {
        let author = author.filter(|author| !author.is_empty());
        let email = email.filter(|email| !email.is_empty());
        match (author, email) {
            (None, None) => None,
            (Some(author), email) => Some(Self::new(author, email.unwrap_or_default())),
            (None, Some(email)) => Some(Self::new(email, email)),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address.
    pub fn email(&self) -> &str {
        &self.email
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

fn cleaned(text: &str) -> String {
    let is_bad = |c: char| c == '<' || c == '>' || c.is_control();
    text.chars().filter(|c| !is_bad(*c)).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_overrides_as_porch_does() {
        let shown = |author, email| Person::of_repository(author, email).map(|person| person.to_string());
        assert_eq!(shown(None, None), None);
        assert_eq!(shown(Some(""), Some("")), None);
        assert_eq!(shown(Some("Ann"), None).as_deref(), Some("Ann <>"));
        assert_eq!(shown(None, Some("a@b")).as_deref(), Some("a@b <a@b>"));
        assert_eq!(shown(Some("Ann"), Some("a@b")).as_deref(), Some("Ann <a@b>"));
    }

    #[test]
    fn nothing_can_be_smuggled_into_a_commit() {
        let person = Person::user("eve\n> 0 +0000\ncommitter <x");
        assert_eq!(person.to_string(), "eve 0 +0000committer x <eve 0 +0000committer x>");
    }
}
