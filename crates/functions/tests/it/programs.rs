//! The functions beside the programs of the public catalog, on the lists of all fixtures.
//!
//! `catalog.yaml` in a case is what the program answered to its `input.yaml`. `LANAI_CATALOG_PROGRAMS` names a folder with the
//! programs: then they are asked, and with `UPDATE=1` what they say is kept. Compared are the exit code, the results, and the
//! resources: their values, and for the functions that edit a text in place the whole text in the reference format. What
//! docs/functions.md says of all functions is no difference. Every other difference stands in `deviation.txt` of the case, and a
//! row of the page names that case.

mod ask;
mod compare;
mod difference;
mod record;

use std::fs;
use std::path::{Path, PathBuf};

use lanai_functions::{Function, catalog, run_on_wire};

use crate::fixtures::{cases, compare as compare_file};
use compare::Depth;

/// The functions for which the catalog has no program.
const WITHOUT_PROGRAM: &[&str] = &["drop-comments", "gen-pkg-context", "no-op"];

/// The functions whose programs do not edit a text in place: of those only the values are compared.
const BY_VALUE: &[&str] = &["set-project-id"];

/// The cases to which a program answers one thing or another, by chance. What it said once is kept.
const BY_CHANCE: &[&str] = &["apply-setters/value-with-hole", "create-setters/same-value"];

/// Results that a program adds wherever it runs. One case shows them, the others are compared without.
struct Aside {
    function: &'static str,
    /// How their messages end.
    end: &'static str,
    /// The case that shows them; a deviation names it.
    shown_by: &'static str,
}

const ASIDE: &Aside =
    &Aside { function: "set-namespace", end: " does not have upstream origin.", shown_by: "configmap" };

#[test]
fn every_answer_is_that_of_the_catalog_or_a_listed_deviation() {
    let programs = std::env::var_os("LANAI_CATALOG_PROGRAMS").map(PathBuf::from);
    let (mut wrong, mut lines) = (Vec::new(), Vec::new());
    for function in catalog() {
        let name = function.name();
        if WITHOUT_PROGRAM.contains(&name) {
            lines.push(format!("{name}: the catalog has no such program"));
            continue;
        }
        let program = programs.as_ref().map(|folder| folder.join(name));
        let program = program.filter(|program| {
            if !program.is_file() {
                lanai_testkit::skip(name, "LANAI_CATALOG_PROGRAMS has no such program: what it said is kept");
            }
            program.is_file()
        });
        let (cases, mut equal) = (cases(name), 0);
        for case in &cases {
            let found = check(*function, case, program.as_deref());
            equal += usize::from(found.is_equal);
            wrong.extend(found.wrong.into_iter().map(|why| format!("{}: {why}", case.display())));
        }
        lines.push(format!("{name}: {} cases, {equal} equal, {} deviate", cases.len(), cases.len() - equal));
    }
    eprintln!("{}", lines.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What a comparison found.
struct Found {
    is_equal: bool,
    wrong: Vec<String>,
}

fn check(function: &dyn Function, case: &Path, program: Option<&Path>) -> Found {
    let input = fs::read_to_string(case.join("input.yaml")).unwrap();
    let mut wrong = Vec::new();
    if let Some(program) = program {
        let answer = ask::ask(program, &input);
        let by_chance = BY_CHANCE.iter().any(|chance| case.ends_with(chance));
        let kept = record::read(case).filter(|kept| by_chance && kept.asked == answer.asked);
        if kept.is_some() {
            // Asking again proves nothing.
        } else if std::env::var_os("UPDATE").is_some() {
            record::write(case, function.name(), &answer);
        } else if record::read(case) != Some(answer) {
            wrong.push("the program answers something else than catalog.yaml says".into());
        }
    }
    let Some(theirs) = record::read(case) else {
        wrong.push("there is no catalog.yaml; run `UPDATE=1 scripts/oracle-functions.sh`".into());
        return Found { is_equal: false, wrong };
    };
    if theirs.asked != record::digest(&input) {
        wrong.push(
            "catalog.yaml is the answer to another input.yaml; run `UPDATE=1 scripts/oracle-functions.sh`"
                .into(),
        );
    }
    let depth = if BY_VALUE.contains(&function.name()) { Depth::Values } else { Depth::Text };
    let name = case.file_name().unwrap().to_string_lossy();
    let aside = (ASIDE.function == function.name() && ASIDE.shown_by != name).then_some(ASIDE.end);
    let ours = run_on_wire(function.name(), &input);
    let differences = compare::differences(&ours, &theirs, depth, aside);
    wrong.extend(compare_file(case, "deviation.txt", &differences));
    let is_listed = function.doc().deviations.iter().any(|row| row.fixtures.contains(&&*name));
    match (differences.is_empty(), is_listed) {
        (true, false) | (false, true) => {}
        (true, true) => wrong.push("a deviation names this case, but the answers are equal".into()),
        (false, false) => {
            wrong.push(format!("no deviation names this case, but it is another answer:\n{differences}"));
        }
    }
    Found { is_equal: differences.is_empty(), wrong }
}
