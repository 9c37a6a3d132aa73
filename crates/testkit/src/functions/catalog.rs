//! A function beside the program of the public catalog, on the list of a case.
//!
//! Compared are the exit code, the results, and the resources. What docs/functions.md says of all functions is no difference. Every
//! other difference stands in `deviation.txt` of the case, and a row of the page names that case.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_functions::{Compared, run_this_on_wire};

use super::{Fixtures, ask, compare, compare_file, record};

/// What a comparison found.
pub struct Found {
    pub is_equal: bool,
    pub wrong: Vec<String>,
}

/// The program of a function, where there is a folder of programs and it is there.
pub fn program(function: &str, folder: Option<&Path>) -> Option<PathBuf> {
    let program = folder?.join(function);
    if program.is_file() {
        return Some(program);
    }
    crate::skip(function, "LANAI_CATALOG_PROGRAMS has no such program: what it said is kept");
    None
}

pub fn check(fixtures: &Fixtures<'_>, compared: Compared, case: &Path, program: Option<&Path>) -> Found {
    let function = fixtures.function;
    let name = case.file_name().unwrap().to_string_lossy();
    let input = fs::read_to_string(case.join("input.yaml")).unwrap();
    let mut wrong = Vec::new();
    if let Some(program) = program {
        let answer = ask::ask(program, &input);
        let by_chance = fixtures.by_chance.contains(&&*name);
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
    let ours = run_this_on_wire(function, &input);
    let differences = compare::differences(&ours, &theirs, compared);
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
