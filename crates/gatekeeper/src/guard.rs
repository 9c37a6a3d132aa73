//! What is wrong with Rego before it is parsed.
//!
//! The parser tries several readings of each bracket, so that the time it takes doubles with each level, and it walks long
//! expressions by recursion. Both are counted before it runs.

use crate::Limits;

/// Functions of Rego whose answer is not in the list: chance, clock, network and environment.
const REFUSED: &[&str] =
    &["http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122"];

/// The operators that join expressions to longer ones.
const OPERATORS: [char; 7] = ['+', '-', '*', '/', '%', '&', '|'];

/// Refuses Rego that is too long, that nests too deep, or that calls what there is not.
///
/// # Errors
/// In words, with the name of the text, and the line where there is one.
pub fn check(name: &str, rego: &str, limits: &Limits) -> Result<(), String> {
    if rego.len() > limits.max_source {
        return Err(format!(
            "{name} has {} bytes, at most {} are accepted (max_source)",
            rego.len(),
            limits.max_source
        ));
    }
    let mut depth = 0_usize;
    let mut operators = 0_usize;
    let mut goes_on = false;
    for (line, code) in code(rego).lines().enumerate() {
        let at = line + 1;
        if let Some(found) = REFUSED.iter().find(|function| calls(code, function)) {
            return Err(format!("{name}:{at}: {found} is not available: policies see nothing but the list"));
        }
        let words = code.trim();
        if !goes_on && !words.starts_with(OPERATORS) {
            operators = 0;
        }
        goes_on = words.ends_with(OPERATORS) || (goes_on && words.is_empty());
        for letter in code.chars() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                letter if OPERATORS.contains(&letter) => operators += 1,
                _ => {}
            }
            if depth > limits.max_nesting {
                let limit = limits.max_nesting;
                return Err(format!(
                    "{name}:{at}: brackets are nested deeper than {limit} levels (max_nesting)"
                ));
            }
            if operators > limits.max_operators {
                let limit = limits.max_operators;
                return Err(format!(
                    "{name}:{at}: there are more than {limit} operators in one expression (max_operators)"
                ));
            }
        }
    }
    Ok(())
}

/// Whether a function is called in a line.
fn calls(line: &str, function: &str) -> bool {
    let behind = line.match_indices(function).map(|(at, found)| line[at + found.len()..].trim_start());
    behind.into_iter().any(|rest| rest.starts_with('('))
}

/// The text without what is in strings and comments; lines stay lines.
pub fn code(rego: &str) -> String {
    let mut out = String::with_capacity(rego.len());
    let mut letters = rego.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '#' => {
                if letters.by_ref().any(|letter| letter == '\n') {
                    out.push('\n');
                }
            }
            '`' => out.extend(
                letters.by_ref().take_while(|letter| *letter != '`').filter(|letter| *letter == '\n'),
            ),
            '"' => {
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    match letter {
                        '\\' => drop(letters.next()),
                        '\n' => out.push('\n'),
                        _ => {}
                    }
                }
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(rego: &str) -> Option<String> {
        let limits = Limits { max_nesting: 3, max_operators: 3, max_source: 100, ..Limits::DEFAULT };
        check("r", rego, &limits).err()
    }

    #[test]
    fn brackets_and_operators_are_counted_up_to_the_limit() {
        assert_eq!(refused("[({})]\n[({})]"), None);
        let deep = "r:2: brackets are nested deeper than 3 levels (max_nesting)";
        assert_eq!(refused("a\n[({[]})]").as_deref(), Some(deep));
        assert_eq!(refused("1 + 1 - 1 * 1\n1 + 1"), None);
        let long = "r:1: there are more than 3 operators in one expression (max_operators)";
        assert_eq!(refused("1 + 1 - 1 * 1 / 1").as_deref(), Some(long));
        let lines = "r:3: there are more than 3 operators in one expression (max_operators)";
        assert_eq!(refused("1 +\n1 - 1 *\n\n1 / 1").as_deref(), Some(&*lines.replace("r:3", "r:4")));
        assert_eq!(refused("1 + 1\n- 1 * 1\n/ 1").as_deref(), Some(lines));
        assert_eq!(refused("\"[[[[ \\\" [[[[\" `[[[[` # [[[[ \" \n[]"), None);
    }

    #[test]
    fn what_there_is_not_is_refused_where_it_is_called() {
        let clock = "r:2: time.now_ns is not available: policies see nothing but the list";
        assert_eq!(refused("a\nx := time.now_ns ()").as_deref(), Some(clock));
        assert_eq!(refused("a # time.now_ns()\nb := \"time.now_ns()\""), None);
    }

    #[test]
    fn rego_has_at_most_so_many_bytes() {
        assert_eq!(refused(&"a".repeat(100)), None);
        let long = "r has 101 bytes, at most 100 are accepted (max_source)";
        assert_eq!(refused(&"a".repeat(101)).as_deref(), Some(long));
    }
}
