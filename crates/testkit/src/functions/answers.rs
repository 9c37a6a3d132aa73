//! What a function answers to a case, and what it promises for every case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lanai_functions::{Answer, Code, run_this_on_wire};
use lanai_krm::result::Severity;
use lanai_krm::{Resource, ResourceList};
use lanai_yaml::Stream;

use super::{Effect, Fixtures, compare_file};

/// Everything that is wrong with the answer to a case.
pub fn check(fixtures: &Fixtures<'_>, case: &Path) -> Vec<String> {
    let function = fixtures.function;
    let input = fs::read_to_string(case.join("input.yaml")).unwrap();
    let answer = run_this_on_wire(function, &input);
    let mut wrong = Vec::from_iter(compare_file(case, "output.yaml", &answer.stdout));
    wrong.extend(compare_file(case, "stderr.txt", &answer.stderr));
    let is_silent = answer.stderr.is_empty();
    let fits = match function.code() {
        Code::Ours => (answer.exit_code == 0) == is_silent,
        Code::Users => answer.exit_code == 0 || !is_silent,
    };
    if !fits {
        wrong.push("exit code and message do not fit".into());
    }
    if run_this_on_wire(function, &input) != answer {
        wrong.push("a second run of the same gives another answer".into());
    }
    let Ok(before) = ResourceList::parse(&input) else { return wrong };
    let after = ResourceList::parse(&answer.stdout).unwrap();
    let text = |config: Option<&Resource>| config.map(Resource::to_string);
    if text(before.function_config.as_ref()) != text(after.function_config.as_ref()) {
        wrong.push("the function config was changed".into());
    }
    let new = &after.results[before.results.len()..];
    if (answer.exit_code != 0) != new.iter().any(|item| item.severity == Some(Severity::Error)) {
        wrong.push("exit code and results do not fit".into());
    }
    wrong.extend(promised(fixtures, &answer, &before, &after));
    wrong.extend(compare_file(case, "lost.txt", &lost_comments(&before.items, &after.items)));
    wrong
}

/// What is wrong with what became of the resources.
fn promised(
    fixtures: &Fixtures<'_>,
    answer: &Answer,
    before: &ResourceList,
    after: &ResourceList,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_same = texts(before) == texts(after);
    match fixtures.effect {
        Effect::LooksOnly if !is_same => wrong.push("a resource was changed".into()),
        Effect::RunsScripts if answer.exit_code != 0 && !is_same => {
            wrong.push("it failed and changed something".into());
        }
        Effect::LooksOnly | Effect::ChangesText => {}
        Effect::Edits | Effect::RunsScripts => wrong.extend(written_anew(before, after)),
    }
    match fixtures.effect {
        Effect::Edits | Effect::ChangesText if answer.exit_code == 0 => {
            let again = ResourceList { results: Vec::new(), ..after.clone() };
            let again = run_this_on_wire(fixtures.function, &again.to_string());
            let again = ResourceList::parse(&again.stdout).unwrap();
            if texts(&again) != texts(after) {
                wrong.push(format!("run again, it changes something:\n{}", texts(&again).join("---\n")));
            }
        }
        Effect::LooksOnly | Effect::Edits | Effect::ChangesText | Effect::RunsScripts => {}
    }
    wrong
}

fn texts(list: &ResourceList) -> Vec<String> {
    list.items.iter().map(Resource::to_string).collect()
}

/// The resources that mean what they meant, but are written in another way. A resource that is no longer at its place is
/// looked for among the others.
fn written_anew(before: &ResourceList, after: &ResourceList) -> Vec<String> {
    let found = before.items.iter().enumerate().filter_map(|(at, old)| {
        let here = after.items.get(at).filter(|new| new.means_the_same(old));
        let new = here.or_else(|| after.items.iter().find(|new| new.means_the_same(old)))?;
        (new.to_string() != old.to_string()).then(|| format!("written anew without need:\n{old}\n{new}"))
    });
    found.collect()
}

/// The comments that stood in resources before and do not stand there now, a line each.
pub fn lost_comments<'a>(
    before: impl IntoIterator<Item = &'a Resource>,
    after: impl IntoIterator<Item = &'a Resource>,
) -> String {
    let mut left = BTreeMap::<String, usize>::new();
    for comment in after.into_iter().flat_map(comments) {
        *left.entry(comment).or_default() += 1;
    }
    let is_lost = |comment: &String| match left.get_mut(comment) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let lost = before.into_iter().flat_map(comments).filter(is_lost);
    lost.map(|comment| comment + "\n").collect()
}

fn comments(resource: &Resource) -> Vec<String> {
    let stream = Stream::parse(resource.to_string()).unwrap();
    stream.comments().into_iter().map(Into::into).collect()
}
