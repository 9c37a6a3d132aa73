//! Who sent a request.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use lanai_store::{Key, Kind, Store};
use ring::digest::{SHA256, digest};
use x509_parser::parse_x509_certificate;

use crate::identity::{AUTHENTICATED, Identity};
use crate::meta;
use crate::row;
use crate::status::Status;
use crate::tokens::TokenKey;

/// What the connection says about who is at the other end. Whoever accepts connections puts it into the extensions of each request.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Where from.
    pub remote: Option<SocketAddr>,
    /// Whose certificate was shown, if one was, and was good.
    pub peer: Option<Peer>,
}

/// Whose certificate was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A user's.
    User(Identity),
    /// That of a proxy which vouches for users.
    FrontProxy {
        /// The common name of the certificate.
        name: String,
    },
}

/// The ways to show who one is, beside certificates.
#[derive(Default, Clone)]
pub struct Authentication {
    /// Tokens from a file.
    pub static_tokens: StaticTokens,
    /// The key of the tokens of service accounts.
    pub tokens: Option<Arc<TokenKey>>,
    /// The names of proxies that may vouch for users; none means every proxy with a certificate.
    pub front_proxies: Vec<String>,
}

/// Tokens and who has them. Only digests are kept.
#[derive(Default, Clone)]
pub struct StaticTokens(HashMap<[u8; 32], Identity>);

impl StaticTokens {
    /// Reads lines of `token,user,uid` or `token,user,uid,"group1,group2"`; empty lines and those that begin with `#` are left out.
    ///
    /// # Errors
    /// With the number of the line that is none of these. Never with its text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.splitn(4, ',').map(|part| part.trim().trim_matches('"')).collect();
            let [token, user, uid, groups @ ..] = parts.as_slice() else {
                return Err(format!("line {} is not token,user,uid", at + 1));
            };
            if token.is_empty() || user.is_empty() {
                return Err(format!("line {} has no token or no user", at + 1));
            }
            let groups =
                groups.iter().flat_map(|groups| groups.split(',')).map(|group| group.trim().to_owned());
            let mut identity = Identity::known(*user, groups.filter(|group| !group.is_empty()));
            identity.uid = Some((*uid).to_owned()).filter(|uid| !uid.is_empty());
            tokens.insert(hash(token), identity);
        }
        Ok(Self(tokens))
    }

    /// Adds a token.
    pub fn insert(&mut self, token: &str, identity: Identity) {
        self.0.insert(hash(token), identity);
    }
}

fn hash(token: &str) -> [u8; 32] {
    digest(&SHA256, token.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Reads who a certificate is about: the common name, and the organizations as groups.
pub fn identity_of_certificate(der: &[u8]) -> Option<Identity> {
    let (_, certificate) = parse_x509_certificate(der).ok()?;
    let subject = certificate.subject();
    let user = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned);
    (!user.is_empty()).then(|| Identity::known(user, groups))
}

impl Authentication {
    /// Who sent a request; none if it does not say.
    ///
    /// # Errors
    /// 401 when what it says is not so.
    pub async fn of(
        &self,
        headers: &HeaderMap,
        peer: Option<&Peer>,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<Identity>, Status> {
        match peer {
            Some(Peer::FrontProxy { name }) => return self.vouched(headers, name).map(Some),
            Some(Peer::User(identity)) => return Ok(Some(identity.clone())),
            None => {}
        }
        let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
        let text = value.to_str().map_err(|_| Status::unauthorized())?;
        let Some((scheme, token)) = text.split_once(' ') else { return Err(Status::unauthorized()) };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Status::unauthorized());
        }
        let identity = self.token(token.trim(), &[], store, now).await?;
        identity.map(Some).ok_or_else(Status::unauthorized)
    }

    /// Whose token it is, for these audiences or, without any, for this server.
    pub(crate) async fn token(
        &self,
        token: &str,
        audiences: &[&str],
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<Identity>, Status> {
        if let Some(identity) = self.static_tokens.0.get(&hash(token)) {
            return Ok(Some(identity.clone()));
        }
        let Some(key) = &self.tokens else { return Ok(None) };
        let own = [key.issuer()];
        let audiences = if audiences.is_empty() { &own[..] } else { audiences };
        let Some(claims) = key.verify(token, audiences, now) else { return Ok(None) };
        let account = claims.account;
        // The account must still be the one for which it was made.
        let kind = Kind::new("serviceaccounts")?;
        let row = store.get(&Key::new(&kind, &account.namespace, &account.serviceaccount.name)?).await?;
        let Some(row) = row else { return Ok(None) };
        let object = row::decode(&row)?;
        if meta::uid(&object) != account.serviceaccount.uid {
            return Ok(None);
        }
        let mut identity = Identity::service_account(&account.namespace, &account.serviceaccount.name);
        identity.uid = Some(account.serviceaccount.uid);
        identity
            .extra
            .insert("authentication.kubernetes.io/credential-id".into(), vec![format!("JTI={}", claims.jti)]);
        Ok(Some(identity))
    }

    fn vouched(&self, headers: &HeaderMap, proxy: &str) -> Result<Identity, Status> {
        if !self.front_proxies.is_empty() && !self.front_proxies.iter().any(|name| name == proxy) {
            return Err(Status::unauthorized());
        }
        let texts = |name: &str| -> Vec<String> {
            headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
        };
        let user = texts("x-remote-user").into_iter().next().ok_or_else(Status::unauthorized)?;
        let mut groups = texts("x-remote-group");
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.into());
        }
        let uid = texts("x-remote-uid").into_iter().next();
        Ok(Identity { user, uid, groups, extra: prefixed(headers, "x-remote-extra-") })
    }
}

/// Headers whose names begin so, by what follows.
pub(crate) fn prefixed(headers: &HeaderMap, prefix: &str) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(prefix) else { continue };
        let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy().into_owned();
        if let Ok(value) = value.to_str() {
            extra.entry(key).or_default().push(value.to_owned());
        }
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_files() {
        let tokens = StaticTokens::parse("# x\n\nabc,ann,1,\"dev,ops\"\ndef, bob, \n").unwrap();
        let ann = &tokens.0[&hash("abc")];
        assert_eq!((ann.user.as_str(), ann.is_in("ops"), ann.is_in(AUTHENTICATED)), ("ann", true, true));
        assert_eq!(tokens.0[&hash("def")].uid, None);
        let error = StaticTokens::parse("a,b,c\nsecret").err().unwrap();
        assert!(error.contains("line 2") && !error.contains("secret"));
    }
}
