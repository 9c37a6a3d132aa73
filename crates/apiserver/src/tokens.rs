//! Tokens of service accounts: JSON web tokens with one algorithm, ES256, and no other.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

/// The longest token that is looked at, in bytes.
const MAX_TOKEN: usize = 16 * 1024;

/// The key that signs tokens.
pub struct TokenKey {
    pair: EcdsaKeyPair,
    id: String,
    issuer: String,
}

/// A key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key for tokens is not a P-256 key in PKCS #8: {0}")]
pub struct BadKey(String);

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who signed it.
    pub iss: String,
    /// Whom it is about.
    pub sub: String,
    /// Who may take it.
    pub aud: Vec<String>,
    /// Until when, in seconds since 1970.
    pub exp: i64,
    /// Since when.
    pub iat: i64,
    /// Not before.
    pub nbf: i64,
    /// A name of its own.
    pub jti: String,
    /// The account.
    #[serde(rename = "kubernetes.io")]
    pub account: Account,
}

/// The account of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Itself.
    pub serviceaccount: Reference,
}

/// An object by name and uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

impl TokenKey {
    /// A new key, in PKCS #8.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<Vec<u8>, BadKey> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        document.map(|document| document.as_ref().to_vec()).map_err(|error| BadKey(error.to_string()))
    }

    /// Reads a key. The issuer stands in tokens.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_pkcs8(bytes: &[u8], issuer: impl Into<String>) -> Result<Self, BadKey> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes, &SystemRandom::new());
        let pair = pair.map_err(|error| BadKey(error.to_string()))?;
        let digest = ring::digest::digest(&ring::digest::SHA256, pair.public_key().as_ref());
        let id = URL_SAFE_NO_PAD.encode(digest);
        Ok(Self { pair, id, issuer: issuer.into() })
    }

    /// Who signs, as it stands in tokens; also the audience of tokens that name none.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Signs.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn sign(&self, claims: &Claims) -> Result<String, BadKey> {
        let header = Header { alg: "ES256".into(), kid: self.id.clone() };
        let text = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        let signature = signature.map_err(|error| BadKey(error.to_string()))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// What a token says, if this key signed it, it is in its time, and it is for this audience.
    pub fn verify(&self, token: &str, audiences: &[&str], now: Timestamp) -> Option<Claims> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (text, signature) = token.rsplit_once('.')?;
        let (header, claims) = text.split_once('.')?;
        let header: Header = decode(header)?;
        if header.alg != "ES256" || header.kid != self.id {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        key.verify(text.as_bytes(), &signature).ok()?;
        let claims: Claims = decode(claims)?;
        let seconds = now.as_second();
        let is_now = claims.nbf <= seconds && seconds < claims.exp;
        let is_here =
            claims.iss == self.issuer && claims.aud.iter().any(|one| audiences.contains(&one.as_str()));
        (is_now && is_here).then_some(claims)
    }

    /// The public key as a JSON web key.
    pub fn public(&self) -> serde_json::Value {
        let point = self.pair.public_key().as_ref();
        // An uncompressed point: a byte, and two numbers of 32 bytes.
        let part = |from: usize| URL_SAFE_NO_PAD.encode(point.get(from..from + 32).unwrap_or_default());
        serde_json::json!({"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": self.id, "x": part(1), "y": part(33)})
    }
}

fn encode(value: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).expect("texts and numbers are JSON"))
}

fn decode<T: for<'a> Deserialize<'a>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TokenKey {
        TokenKey::from_pkcs8(&TokenKey::generate().unwrap(), "https://lanai").unwrap()
    }

    fn claims() -> Claims {
        let serviceaccount = Reference { name: "b".into(), uid: "u".into() };
        let account = Account { namespace: "a".into(), serviceaccount };
        let aud = vec!["https://lanai".to_owned()];
        Claims {
            iss: "https://lanai".into(),
            sub: "s".into(),
            aud,
            exp: 200,
            iat: 100,
            nbf: 100,
            jti: "1".into(),
            account,
        }
    }

    #[test]
    fn a_token_is_good_in_its_time_and_for_its_audience() {
        let key = key();
        let token = key.sign(&claims()).unwrap();
        let verify =
            |audience: &str, second| key.verify(&token, &[audience], Timestamp::from_second(second).unwrap());
        assert_eq!(verify("https://lanai", 100), Some(claims()));
        assert!(verify("https://lanai", 199).is_some());
        assert!(verify("https://lanai", 200).is_none());
        assert!(verify("https://lanai", 99).is_none());
        assert!(verify("other", 150).is_none());
    }

    #[test]
    fn what_others_signed_or_changed_is_refused() {
        let key = key();
        let token = key.sign(&claims()).unwrap();
        let now = Timestamp::from_second(150).unwrap();
        let good = |token: &str| key.verify(token, &["https://lanai"], now).is_some();
        assert!(good(&token));
        assert!(!good(&self::key().sign(&claims()).unwrap()));
        let parts: Vec<&str> = token.split('.').collect();
        let mut other = claims();
        other.sub = "root".into();
        assert!(!good(&format!("{}.{}.{}", parts[0], encode(&other), parts[2])));
        let none = encode(&Header { alg: "none".into(), kid: key.id.clone() });
        assert!(!good(&format!("{none}.{}.", parts[1])));
        for token in ["", ".", "..", "a.b.c", &"x".repeat(MAX_TOKEN + 1)] {
            assert!(!good(token));
        }
    }
}
