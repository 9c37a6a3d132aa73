//! Who asks.

use std::collections::BTreeMap;

/// Everybody who is known.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who is not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Who may do everything, whatever the rules say.
pub const MASTERS: &str = "system:masters";

/// Who asks, as rules see them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The name.
    pub user: String,
    /// What tells two of the same name apart.
    pub uid: Option<String>,
    /// What they belong to.
    pub groups: Vec<String>,
    /// What whoever vouches for them adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// Somebody who is known; belongs to [`AUTHENTICATED`] beside these groups.
    pub fn known(user: impl Into<String>, groups: impl IntoIterator<Item = String>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.into());
        }
        Self { user: user.into(), groups, ..Self::default() }
    }

    /// Somebody who is not.
    pub fn anonymous() -> Self {
        Self { user: "system:anonymous".into(), groups: vec![UNAUTHENTICATED.into()], ..Self::default() }
    }

    /// A part of the server itself, which may do everything.
    pub fn server(part: &str) -> Self {
        Self::known(format!("system:lanai:{part}"), [MASTERS.to_owned()])
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        Self::known(format!("system:serviceaccount:{namespace}:{name}"), groups)
    }

    /// True for members of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|found| found == group)
    }
}
