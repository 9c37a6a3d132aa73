//! What went wrong, for people.

mod code;

use std::fmt;
use std::io;

pub(crate) use code::Code;

use crate::persona::Persona;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that the user is told.
    Told(Message),
    /// There is nothing to tell: the reader of standard output went away, or somebody ended the command and was told how far it is.
    NobodyReads,
}

/// An error as it is shown: what, where and why in the text, one action that helps in the hint, and a code to look up.
#[derive(Debug)]
pub(crate) struct Message {
    text: String,
    code: Code,
    hint: Option<String>,
    /// Under the name porchctl, it begins with a small letter.
    is_bare: bool,
}

impl Failure {
    /// An error: its cause, and what, where and why in words.
    pub fn of(code: Code, text: impl Into<String>) -> Self {
        Self::Told(Message { text: without_numbers(text.into()), code, hint: None, is_bare: false })
    }

    /// Says before the text what it means for what was asked.
    pub fn context(self, what: &str) -> Self {
        match self {
            Self::Told(message) => {
                Self::Told(Message { text: format!("{what}: {}", message.text), ..message })
            }
            Self::NobodyReads => Self::NobodyReads,
        }
    }

    /// Adds one action that helps.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Told(message) => Self::Told(Message { hint: Some(hint.into()), ..message }),
            Self::NobodyReads => Self::NobodyReads,
        }
    }
}

impl Failure {
    /// Adds one action that helps where it has this cause.
    pub fn hint_if(self, code: Code, hint: &str) -> Self {
        match &self {
            Self::Told(message) if message.code == code => self.hint(hint),
            _ => self,
        }
    }

    /// One of those few that porchctl tells in another form than the rest.
    pub fn bare(self) -> Self {
        match self {
            Self::Told(message) => Self::Told(Message { is_bare: true, ..message }),
            Self::NobodyReads => Self::NobodyReads,
        }
    }
}

impl Message {
    /// All of it, as kpt would tell it: there are no codes.
    pub fn without_code(&self) -> String {
        match &self.hint {
            Some(hint) => format!("error: {}\nhint: {hint}", self.text),
            None => format!("error: {}", self.text),
        }
    }

    /// Whether the arguments make no sense.
    pub fn is_usage(&self) -> bool {
        self.code == Code::Usage
    }

    /// What, where and why, alone.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What helps, if that is known.
    pub fn help(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// As those read it who called the program by this name.
    pub fn told_as(&self, persona: Persona) -> String {
        match persona {
            Persona::Lanai => self.to_string(),
            Persona::Porchctl => self.without_code(),
            Persona::Kpt => as_kpt(&self.without_code()),
        }
    }

    /// The text as porchctl tells it, with the blank that it has before the end of the line.
    pub fn porchctl(&self) -> String {
        if self.is_bare { format!("error: {}\n", self.text) } else { format!("Error: {} \n", self.text) }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.without_code();
        write!(f, "{}\n{}", text.trim_end(), self.code.line())
    }
}

/// Names commands as somebody types them who knows the program by the name of kpt.
fn as_kpt(text: &str) -> String {
    ["pkg", "fn", "live"].iter().fold(text.to_owned(), |text, group| {
        text.replace(&format!("lanai {group} "), &format!("kpt {group} "))
    })
}

/// Leaves out the numbers that systems give to errors: the words beside them say it.
fn without_numbers(mut text: String) -> String {
    const START: &str = " (os error ";
    while let Some(at) = text.find(START) {
        let behind = &text[at + START.len()..];
        let Some(end) =
            behind.find(')').filter(|end| behind[..*end].bytes().all(|byte| byte.is_ascii_digit()))
        else {
            break;
        };
        text.replace_range(at..=at + START.len() + end, "");
    }
    text
}

/// The cause of an I/O error, in words.
pub(crate) fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::IsADirectory => "it is a directory, where a file is needed".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::InvalidData => "it is not UTF-8".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_program_that_was_called() {
        let failure = Failure::of(Code::NoPackage, "no").hint("\"lanai pkg init\", then lanai fn render");
        let Failure::Told(message) = failure else { panic!("it is told") };
        assert_eq!(message.told_as(Persona::Kpt), "error: no\nhint: \"kpt pkg init\", then kpt fn render");
        assert!(message.told_as(Persona::Lanai).contains("\"lanai pkg init\""));
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        let check = |text: &str, expected: &str| assert_eq!(without_numbers(text.into()), expected);
        check("a: no (os error 13): b: no (os error 2)", "a: no: b: no");
        check("a (os error x)", "a (os error x)");
        check("a (os error 1", "a (os error 1");
    }
}
