//! How senders of notifications show that they know the secret.

use http::HeaderMap;
use ring::hmac::{self, HMAC_SHA256};

/// Headers with the HMAC of the body, in hexadecimal digits, and what stands in front of it. The first that is there counts.
const SIGNATURES: [(&str, &str); 4] = [
    // GitHub; Gitea, Forgejo and others send it too.
    ("x-hub-signature-256", "sha256="),
    ("x-gitea-signature", ""),
    ("x-forgejo-signature", ""),
    ("x-gogs-signature", ""),
];
/// The header in which GitLab sends the secret itself.
const TOKEN: &str = "x-gitlab-token";
/// Headers that say what happened.
const EVENTS: [&str; 4] = ["x-github-event", "x-gitea-event", "x-forgejo-event", "x-gitlab-event"];

/// Whether the sender knows the secret. How long that takes does not depend on how much of a signature is right.
pub(super) fn is_signed(headers: &HeaderMap, body: &[u8], secret: &[u8]) -> bool {
    let key = hmac::Key::new(HMAC_SHA256, secret);
    for (name, before) in SIGNATURES {
        let Some(value) = headers.get(name) else { continue };
        let signature = value.to_str().ok().and_then(|text| text.strip_prefix(before)).and_then(decode);
        return signature.is_some_and(|signature| hmac::verify(&key, body, &signature).is_ok());
    }
    // Equal texts have equal codes, and codes are compared in constant time.
    let token = headers.get(TOKEN).map(|token| hmac::sign(&key, token.as_bytes()));
    token.is_some_and(|token| hmac::verify(&key, secret, token.as_ref()).is_ok())
}

/// What happened, in the words of the sender.
pub(super) fn event(headers: &HeaderMap) -> Option<&str> {
    EVENTS.iter().find_map(|name| headers.get(*name)?.to_str().ok())
}

fn decode(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? * 16 + digit(*low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// From GitHub's own page about signatures.
    const SECRET: &[u8] = b"It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const CODE: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn check(header: &'static str, value: &str, body: &[u8], secret: &[u8], expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header, HeaderValue::from_str(value).unwrap());
        assert_eq!(is_signed(&headers, body, secret), expected, "{header}: {value}");
    }

    #[test]
    fn only_who_knows_the_secret_is_believed() {
        let github = format!("sha256={CODE}");
        check("x-hub-signature-256", &github, BODY, SECRET, true);
        check("x-hub-signature-256", &github.to_uppercase().replace("SHA", "sha"), BODY, SECRET, true);
        check("x-hub-signature-256", &github, b"Hello, World?", SECRET, false);
        check("x-hub-signature-256", &github, BODY, b"another", false);
        for bad in ["", "sha256=", CODE, "sha1=757107ea", &github[..70], &format!("{github}0"), "sha256=zz"] {
            check("x-hub-signature-256", bad, BODY, SECRET, false);
        }
        check("x-gitea-signature", CODE, BODY, SECRET, true);
        check("x-forgejo-signature", CODE, BODY, SECRET, true);
        check("x-gitea-signature", &CODE.replace('7', "8"), BODY, SECRET, false);
        check("x-gitlab-token", "It's a Secret to Everybody", BODY, SECRET, true);
        check("x-gitlab-token", "It's a Secret to everybody", BODY, SECRET, false);
        check("x-gitlab-token", "", BODY, SECRET, false);
        check("authorization", "Bearer x", BODY, SECRET, false);
        assert!(!is_signed(&HeaderMap::new(), BODY, SECRET));
        // A signature that is there and wrong is not made good by a token.
        let mut both = HeaderMap::new();
        both.insert("x-hub-signature-256", HeaderValue::from_static("sha256=00"));
        both.insert("x-gitlab-token", HeaderValue::from_static("It's a Secret to Everybody"));
        assert!(!is_signed(&both, BODY, SECRET));
    }
}
