//! Facts about single characters that several modules need.

/// Space or tab.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The length of the line break at `at`: 2 for CRLF, 1 for LF or CR, 0 for anything else.
pub(super) fn break_len(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'\r') if text.get(at + 1) == Some(&b'\n') => 2,
        Some(b'\n' | b'\r') => 1,
        _ => 0,
    }
}

/// Whether `char` may only be written as an escape, in any style and for any reader: what YAML does not count
/// as printable, the byte order mark, and every line break except LF that one version of YAML or another
/// knows.
pub(super) fn needs_escape(char: char) -> bool {
    match char {
        '\t' | '\n' | ' '..='~' => false,
        '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' => true,
        _ => char.is_control(),
    }
}

/// Appends `char` as an escape of a double-quoted scalar, in the shortest form that YAML 1.1 and 1.2 share.
pub(super) fn push_escape(out: &mut String, char: char) {
    let short = match char {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0B' => 'v',
        '\x0C' => 'f',
        '\r' => 'r',
        '\x1B' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{A0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => return push_hex_escape(out, char),
    };
    out.push('\\');
    out.push(short);
}

fn push_hex_escape(out: &mut String, char: char) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let code = u32::from(char);
    let (letter, width) = match code {
        0..=0xFF => ('x', 2),
        0x100..=0xFFFF => ('u', 4),
        _ => ('U', 8),
    };
    out.push('\\');
    out.push(letter);
    for place in (0..width).rev() {
        let digit = (code >> (place * 4)) & 0xF;
        out.push(DIGITS[digit as usize]);
    }
}
