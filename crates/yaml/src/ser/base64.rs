//! The text form of bytes behind the tag `!!binary`: base64 with the standard alphabet and padding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Writes bytes on one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads bytes; white space may stand anywhere. `None` for anything that [`encode`] would write otherwise.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(digits).ok()
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
