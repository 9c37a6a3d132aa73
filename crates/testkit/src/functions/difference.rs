//! The lines in which two answers differ.

use std::fmt::Write as _;

/// What a program says, and what we say.
pub struct Both<T> {
    pub there: T,
    pub here: T,
}

impl<T: PartialEq> Both<T> {
    pub fn are_equal(&self) -> bool {
        self.there == self.here
    }
}

/// The lines that only one of them has, below a heading: `-` stands there, `+` here. Nothing when the texts are equal.
pub fn section(heading: &str, texts: &Both<Vec<String>>) -> String {
    if texts.are_equal() {
        return String::new();
    }
    let lines = |texts: &[String]| texts.iter().flat_map(|text| text.lines().map(String::from)).collect();
    let lines = Both { there: lines(&texts.there), here: lines(&texts.here) };
    format!("{heading}\n{}", diff(&lines))
}

/// All lines but those of a longest common part.
fn diff(lines: &Both<Vec<String>>) -> String {
    let Both { there, here } = lines;
    let mut longest = vec![vec![0_usize; here.len() + 1]; there.len() + 1];
    for (i, line) in there.iter().enumerate().rev() {
        for (j, other) in here.iter().enumerate().rev() {
            longest[i][j] = if line == other {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    while i < there.len() || j < here.len() {
        if i < there.len() && j < here.len() && there[i] == here[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == here.len() || (i < there.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            writeln!(out, "- {}", there[i]).unwrap();
            i += 1;
        } else {
            writeln!(out, "+ {}", here[j]).unwrap();
            j += 1;
        }
    }
    out
}

#[test]
fn common_lines_are_left_out() {
    let check = |there: &[&str], here: &[&str], expected: &str| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
        assert_eq!(section("x", &Both { there: texts(there), here: texts(here) }), expected);
    };
    check(&["a\nb"], &["a\nb"], "");
    check(&["a\nb", "c"], &["a", "d\nc"], "x\n- b\n+ d\n");
    check(&["a"], &[], "x\n- a\n");
    check(&[], &["a\nb"], "x\n+ a\n+ b\n");
}
