//! Every limit on its edge, and errors that people can act on.

use lanai_types::YamlLimits;
use lanai_yaml::{Cause, Document, Error, Stream};

fn within(text: &str, change: impl FnOnce(&mut YamlLimits)) -> Result<Stream, Error> {
    let mut limits = YamlLimits::default();
    change(&mut limits);
    Stream::parse_within(text, &limits)
}

fn check(text: &str, name: &'static str, enough: usize, set: fn(&mut YamlLimits, usize)) {
    within(text, |limits| set(limits, enough))
        .unwrap_or_else(|error| panic!("{name} = {enough} is enough: {error}"));
    let error = within(text, |limits| set(limits, enough - 1)).expect_err("one less is not enough");
    assert_eq!(error.cause, Cause::Limit { name, limit: enough - 1 });
}

#[test]
fn limits_hold_exactly() {
    check("a: 1\n", "max_bytes", 5, |limits, value| limits.max_bytes = value);
    check("a:\n  b:\n    c: 1\n", "max_depth", 3, |limits, value| limits.max_depth = value);
    check("[[[1]]]\n", "max_depth", 3, |limits, value| limits.max_depth = value);
    check("a: {b: [1]}\n", "max_depth", 3, |limits, value| limits.max_depth = value);
    check("a: 1\n---\nb: [2]\n", "max_nodes", 7, |limits, value| limits.max_nodes = value);
    check("a\n---\nb\n---\nc\n", "max_documents", 3, |limits, value| limits.max_documents = value);
    // Six nodes are written; the first alias stands for three more, the second for three.
    check("- &a [1, 2]\n- *a\n- *a\n", "max_expanded_nodes", 12, |limits, value| {
        limits.max_expanded_nodes = value;
    });
}

#[test]
fn tokens_and_comments_are_counted_before_nodes_are_made() {
    let limits = YamlLimits { max_nodes: 10, ..YamlLimits::default() };
    let refused_at = |text: String| {
        let error = Stream::parse_within(text, &limits).expect_err("it is too much");
        assert_eq!(error.cause, Cause::Limit { name: "max_nodes", limit: 10 });
        error.position.offset
    };
    // Eight tokens for each node, and some.
    assert_eq!(refused_at(format!("[{}]", "a,".repeat(100_000))), 144);
    assert_eq!(refused_at("#\n".repeat(100_000)), 288);
    assert!(Stream::parse_within("#\n".repeat(144), &limits).is_ok());
}

#[test]
fn aliases_cannot_be_multiplied_past_the_limit() {
    let mut laughs = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned()];
    for level in 1..20 {
        let uses = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push(format!("a{level}: &a{level} [{uses}]\n"));
    }
    let error = Stream::parse(laughs.concat()).expect_err("a billion laughs");
    assert!(matches!(error.cause, Cause::Limit { name: "max_expanded_nodes", .. }), "{error}");
    let error = within("- &a [1, 2]\n- *a\n- *a\n", |limits| limits.max_expanded_nodes = 11);
    let error = error.expect_err("the second alias is too much");
    assert_eq!((error.position.line, error.position.column), (3, 3), "where the alias stands");
    let hidden = format!("- &b [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n{}", "- [*b]\n".repeat(50));
    let error = within(&hidden, |limits| limits.max_expanded_nodes = 300).expect_err("closing hides nothing");
    assert!(matches!(error.cause, Cause::Limit { name: "max_expanded_nodes", .. }), "{error}");
}

#[test]
fn errors_show_the_line() {
    let check = |text: &str, expected: &str| {
        let error = Stream::parse(text).expect_err("the text is not YAML");
        assert_eq!(format!("{error:#}"), expected, "of {text:?}");
    };
    check(
        "a: 1\nb: x: 2\n",
        "line 2, column 5: a mapping value is not allowed here\n2 | b: x: 2\n  |     ^\n\
         hint: quote the text if it holds \": \", or check the indentation of this line",
    );
    check(
        "a:\n\t- 1\n",
        "line 2, column 2: a tab cannot be used for indentation\n2 |  - 1\n  |  ^\nhint: use spaces",
    );
    check(
        "a: [1, 2\nb: 3\n",
        "line 2, column 2: a comma or a closing bracket is missing before this key\n2 | b: 3\n  |  ^",
    );
    check("a: \"x\nb: 1\n", "line 1, column 4: the closing double quote is missing\n1 | a: \"x\n  |    ^");
    check(
        "a: *x\n",
        "line 1, column 4: alias \"x\" names no anchor that stands before it\n1 | a: *x\n  |    ^",
    );
    check(
        "é: @x\n",
        "line 1, column 4: \"@\" and \"`\" are reserved and cannot begin plain text\n1 | é: @x\n  |    ^\nhint: quote the text",
    );
    for bad in ["\u{80}", "\u{9f}", "\u{fffe}", "\u{7f}"] {
        let error = Stream::parse(format!("é: ï\u{85}\u{fffd}{bad}\n")).expect_err("forbidden");
        assert!(matches!(error.cause, Cause::Encoding(_)), "{error}");
    }
    check(
        "a: \u{7}\n",
        "line 1, column 4: the character U+0007 is not allowed in YAML\n1 | a:  \n  |    ^\n\
         hint: write it as an escape in double quotes",
    );
}

#[test]
fn bytes_that_are_not_utf8_are_named() {
    let limits = YamlLimits::default();
    let error = Stream::parse_bytes(b"a: 1\nb: \xff\n", &limits).expect_err("not UTF-8");
    assert_eq!(error.to_string(), "line 2, column 4: the text is not UTF-8");
    let error = Stream::parse_bytes(b"\xff\xfea\0:\0", &limits).expect_err("UTF-16");
    assert_eq!(error.to_string(), "line 1, column 1: the text is UTF-16");
}

#[test]
fn duplicate_keys_are_kept_and_reported() {
    let text = "a: 1\nb: 2\na: 3\nm: {x: 1, x: 2}\n";
    let document = Document::parse(text).expect("duplicate keys are no error");
    assert_eq!(document.to_string(), text);
    let found: Vec<String> = document
        .duplicate_keys()
        .iter()
        .map(|key| format!("{} {} {}", key.key, key.first, key.again))
        .collect();
    assert_eq!(found, ["a line 1, column 1 line 3, column 1", "x line 4, column 5 line 4, column 11"]);
    assert_eq!(document.root().get("a").expect("the first counts").value(), "1");
}
