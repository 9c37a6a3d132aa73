//! Functions of Rego that call themselves.
//!
//! The language forbids them, but the engine finds out by running them until the stack is gone. Rules that need themselves are
//! found by the engine.

use std::collections::{BTreeMap, BTreeSet};

/// Words that begin a statement and are no rule.
const KEYWORDS: &[&str] = &["package", "import", "default", "else", "if", "some", "not", "every"];

/// A function: the last part of its package, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    package: String,
    name: String,
}

/// Which functions call which.
#[derive(Default)]
pub struct Calls(BTreeMap<Function, BTreeSet<Function>>);

impl Calls {
    /// Adds what is called in a text of Rego that has no strings and comments.
    pub fn add(&mut self, code: &str) {
        let package = package(code);
        let (mut depth, mut rule) = (0_usize, None);
        for line in code.lines() {
            let mut is_first = true;
            let mut rest = line;
            while let Some(letter) = rest.chars().next() {
                match letter {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if !letter.is_alphabetic() && letter != '_' {
                    rest = &rest[letter.len_utf8()..];
                    continue;
                }
                let end = rest.find(|letter: char| !is_path(letter)).unwrap_or(rest.len());
                let (path, behind) = rest.split_at(end);
                let is_head = is_first && depth == 0 && !KEYWORDS.contains(&path);
                if is_head {
                    rule = Some(function(path, &package));
                } else if let Some(rule) = rule.as_ref().filter(|_| behind.trim_start().starts_with('(')) {
                    self.0.entry(Function::clone(rule)).or_default().insert(function(path, &package));
                }
                is_first = false;
                rest = behind;
            }
        }
    }

    /// A function that calls itself, perhaps through others.
    pub fn recursive(&self) -> Option<&str> {
        let found = self.0.keys().find(|function| self.reached(function).contains(function));
        found.map(|function| function.name.as_str())
    }

    fn reached(&self, from: &Function) -> BTreeSet<&Function> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Function> = self.0.get(from).into_iter().flatten().collect();
        while let Some(function) = open.pop() {
            if found.insert(function) {
                open.extend(self.0.get(function).into_iter().flatten());
            }
        }
        found
    }
}

fn is_path(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.')
}

/// The last part of the package.
fn package(code: &str) -> String {
    let line = code.lines().find_map(|line| line.trim().strip_prefix("package "));
    line.and_then(|path| path.trim().rsplit('.').next()).unwrap_or_default().to_owned()
}

/// The function of a path, in a package unless the path names another.
fn function(path: &str, package: &str) -> Function {
    let mut parts = path.rsplit('.');
    let name = parts.next().unwrap_or_default().to_owned();
    Function { package: parts.next().unwrap_or(package).to_owned(), name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(codes: &[&str], expected: Option<&str>) {
        let mut calls = Calls::default();
        for code in codes {
            calls.add(code);
        }
        assert_eq!(calls.recursive(), expected, "{codes:?}");
    }

    #[test]
    fn functions_that_call_themselves_are_found() {
        check(&["package a\nf(x) { f(x) }"], Some("f"));
        check(&["package a\nf(x) = y {\n  y := g(x)\n}\n\ng(x) = y {\n  y := 1 + f (x)\n}"], Some("f"));
        check(&["package a\nf(x) := g(x)\ng(x) := f(x)"], Some("f"));
        check(&["package a\nf(x) = 1 { x } else = y {\n  y := f(1)\n}"], Some("f"));
        check(
            &["package lib.one\nf(x) { data.lib.two.g(x) }", "package lib.two\ng(x) { one.f(x) }"],
            Some("f"),
        );
    }

    #[test]
    fn functions_that_only_look_like_it_are_not() {
        check(&["package a\nf(x) { g(x) }\ng(x) { count(x) > 0 }\nviolation[m] { f(1); m := g(2) }"], None);
        check(&["package a\ncontains(x, y) { strings.contains(x, y) }"], None);
        check(&["package a\nf(x) { x.f == 1 }\nf(x) { y := [f | f := x[_]] }"], None);
        check(&["package a\nf(x) {\n  g(x)\n}\n\ng(x) {\n  h(x)\n}\n\nh(x) = x"], None);
    }
}
