//! A command line and its words.

/// Why a command line has no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum Error {
    #[error("a quote in it is not closed")]
    OpenQuote,
    #[error("it ends with a backslash that escapes nothing")]
    DanglingBackslash,
    #[error("it names no program")]
    Empty,
}

/// Where a reader of a command line is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Between,
    Comment,
    Word,
    SingleQuotes,
    DoubleQuotes,
}

/// The words of a command line: the program first. There is at least one.
///
/// The rules are those that kpt has for `exec`: words stand between spaces, tabs and line ends; quotes of both kinds keep them
/// together; a backslash takes any next letter as it is, between double quotes as well, but not between single ones; a `#`
/// where a word could begin starts a comment up to the end of the line. Nothing is expanded, and no shell reads the line.
pub fn split(line: &str) -> Result<Vec<String>, Error> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut place = Place::Between;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_space = matches!(letter, ' ' | '\t' | '\r' | '\n');
        place = match (place, letter) {
            (Place::Comment, '\n') => Place::Between,
            (Place::Comment, _) | (Place::Between, '#') => Place::Comment,
            (Place::Between, _) if is_space => Place::Between,
            (Place::Word, _) if is_space => {
                words.push(std::mem::take(&mut word));
                Place::Between
            }
            (Place::SingleQuotes, '\'') | (Place::DoubleQuotes, '"') => Place::Word,
            (Place::Between | Place::Word, '\'') => Place::SingleQuotes,
            (Place::Between | Place::Word, '"') => Place::DoubleQuotes,
            (Place::Between | Place::Word | Place::DoubleQuotes, '\\') => {
                word.push(letters.next().ok_or(Error::DanglingBackslash)?);
                if place == Place::DoubleQuotes { place } else { Place::Word }
            }
            (Place::Between | Place::Word, _) => {
                word.push(letter);
                Place::Word
            }
            (Place::SingleQuotes | Place::DoubleQuotes, _) => {
                word.push(letter);
                place
            }
        };
    }
    match place {
        Place::SingleQuotes | Place::DoubleQuotes => return Err(Error::OpenQuote),
        Place::Word => words.push(word),
        Place::Between | Place::Comment => {}
    }
    if words.is_empty() { Err(Error::Empty) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, words: &[&str]) {
        assert_eq!(split(line).unwrap(), words, "{line}");
    }

    #[test]
    fn words_stand_between_spaces() {
        check("fn", &["fn"]);
        check("  fn\t-a \r\n b ", &["fn", "-a", "b"]);
    }

    #[test]
    fn quotes_keep_words_together() {
        check(r#"fn "a b" 'c d' e" f"'g'"#, &["fn", "a b", "c d", "e fg"]);
        check(r#"fn "" ''"#, &["fn", "", ""]);
        check(r#"fn "it's" 'say "hi"'"#, &["fn", "it's", "say \"hi\""]);
    }

    #[test]
    fn a_backslash_takes_the_next_letter() {
        check(r"a\ b \#c \\ \n", &["a b", "#c", "\\", "n"]);
        check(r#""a\"b\n" 'c\d'"#, &["a\"bn", r"c\d"]);
    }

    #[test]
    fn comments_reach_to_the_end_of_the_line() {
        check("fn a#b # c 'd\ne", &["fn", "a#b", "e"]);
    }

    #[test]
    fn nothing_is_expanded() {
        check("$HOME/fn ~ * $(id) ; a|b", &["$HOME/fn", "~", "*", "$(id)", ";", "a|b"]);
    }

    #[test]
    fn what_is_no_command_line_is_refused() {
        assert_eq!(split("fn 'a"), Err(Error::OpenQuote));
        assert_eq!(split("fn \"a"), Err(Error::OpenQuote));
        assert_eq!(split("fn \\"), Err(Error::DanglingBackslash));
        assert_eq!(split("fn \"\\"), Err(Error::DanglingBackslash));
        assert_eq!(split(" # nothing"), Err(Error::Empty));
        assert_eq!(split(""), Err(Error::Empty));
    }
}
