use lanai_yaml::{Document, Stream};
use serde::Deserialize;
use serde_json::Value;

/// A case of the public YAML test suite, of which we want the values.
#[derive(Debug, Deserialize)]
struct Case {
    yaml: Option<String>,
    json: Option<String>,
    #[serde(default)]
    fail: bool,
    #[serde(default)]
    skip: bool,
}

/// The suite's stand-ins for what an editor would not show; cases with them are judged elsewhere.
const STAND_INS: [char; 6] = ['—', '»', '↵', '←', '⇔', '∎'];

/// Cases in which the value is not what the suite says, each with its reason.
const DEVIATIONS: &[(&str, &str)] =
    &[("UGM3", "`450.00` is a float, which the suite writes as the integer 450")];

/// Where our values differ from those of the suite.
fn difference(yaml: &str, json: &str) -> Option<String> {
    let expected: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(json).into_iter().collect();
    let expected = expected.expect("the suite's values are JSON");
    let stream = match Stream::parse(yaml.replace('␣', " ")) {
        Ok(stream) => stream,
        Err(error) => return Some(error.to_string()),
    };
    let values: Result<Vec<Value>, _> =
        stream.documents().iter().map(|document| document.root().deserialize()).collect();
    match values {
        Ok(values) if values == expected => None,
        Ok(values) => Some(format!("{values:?}, expected {expected:?}")),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn values_of_the_suite_are_right_or_listed() {
    let Some(corpus) = lanai_testkit::corpus("yaml-test-suite") else {
        lanai_testkit::skip("values of the yaml suite", "the corpus yaml-test-suite is not there");
        return;
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(corpus.join("src")).expect("the corpus has a folder src") {
        let path = entry.expect("the folder is readable").path();
        let name =
            path.file_stem().and_then(|stem| stem.to_str()).expect("suite files have names").to_owned();
        let text = std::fs::read_to_string(&path).expect("the suite's file is readable");
        let document = Document::parse(text).expect("the suite's own files are YAML");
        let cases: Vec<Case> =
            document.root().deserialize().expect("the suite's own files are lists of cases");
        for case in cases.iter().filter(|case| !case.fail && !case.skip) {
            let (Some(yaml), Some(json)) = (&case.yaml, &case.json) else { continue };
            if yaml.contains(STAND_INS) || json.contains(STAND_INS) {
                continue;
            }
            count += 1;
            if let Some(difference) = difference(yaml, json) {
                println!("{name}: {difference}");
                wrong.push(name.clone());
            }
        }
    }
    println!("values of the suite: {count} cases, {} differ", wrong.len());
    wrong.sort();
    let listed: Vec<&str> = DEVIATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(wrong, listed, "the cases that differ are exactly those that are listed");
    assert!(count > 200, "most cases of the suite have values");
}
