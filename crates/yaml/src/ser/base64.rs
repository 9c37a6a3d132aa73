//! The text form of bytes behind the tag `!!binary`: base64 with the standard alphabet and padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes on one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at) & 0x3f) as usize;
            text.push(if at <= chunk.len() { char::from(ALPHABET[digit]) } else { '=' });
        }
    }
    text
}

/// Reads bytes; white space may stand anywhere. `None` for anything that [`encode`] would write otherwise.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    let data = digits.get(..digits.len().checked_sub(padding)?)?;
    if padding > 2 {
        return None;
    }
    for chunk in data.chunks(4) {
        let mut bits = 0u32;
        for at in 0..4 {
            bits = bits << 6 | chunk.get(at).map_or(Some(0), |digit| value(*digit))?;
        }
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (kept, rest) = decoded.split_at(chunk.len() - 1);
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_answers() {
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (plain, text) in pairs {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
        assert_eq!(decode(" Zm9v\n  Yg = =\n").as_deref(), Some(b"foob".as_slice()));
    }

    #[test]
    fn what_is_refused() {
        for text in
            ["Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "====", "=", "Z===", "Zg==Zg==", "Zm-v", "Zm9vé"]
        {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_judged(text in "[A-Za-z0-9+/= \\n]{0,12}|\\PC{0,8}") {
            if let Some(bytes) = decode(&text) {
                let compact: String = text.split_ascii_whitespace().collect();
                prop_assert_eq!(encode(&bytes), compact);
            }
        }
    }
}
