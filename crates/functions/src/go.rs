//! How Go spells things in messages that tools compare.

/// A text in double quotes with escapes, as `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            control if control.is_ascii_control() => out += &escape("x", 2, control),
            control if control.is_control() => out += &escape("u", 4, control),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn escape(mark: &str, digits: usize, letter: char) -> String {
    format!("\\{mark}{:0digits$x}", u32::from(letter))
}

/// Texts in brackets with blanks between them, as `%v` prints a list.
pub fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| text.as_ref().to_owned()).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_go_does() {
        assert_eq!(quote("a \"b\" \\ \n\t\u{1} é\u{85}"), r#""a \"b\" \\ \n\t\x01 é\u0085""#);
        assert_eq!(list(["a", "b c"]), "[a b c]");
    }
}
