//! Putting back the comments that a function lost.
//!
//! Best effort: comments come back to what they were written about, or not at all. Values never change, and a comment that
//! is still there, wherever the function left it, is not added again.

pub(crate) mod items;
mod plan;

use std::collections::HashMap;

use lanai_yaml::{Kind, NodeRef};

use crate::resource::{Resource, ResourceId};
use plan::Plan;

/// Marks of templates: a comment that moves would be run as code.
const TEMPLATE_MARKS: [&str; 2] = ["#@", "#!"];

/// Copies the comments of `before` to the resources of `after` that are the same by type, namespace and name.
///
/// Where several have the same name, file and place in the file must be the same too. Resources that have no partner stay as
/// they are.
pub fn heal(before: &[Resource], after: &mut [Resource]) {
    let partners = partners(before, after);
    for (old, new) in partners {
        heal_one(&before[old], &mut after[new]);
    }
}

/// Copies the comments of `before` to `after`, which is the same resource after a function.
///
/// A comment is copied to the entry with the same key, to the item with the same name (or other identifying field), or to
/// the equal scalar of a list, when there is no comment of the same kind. Nothing is copied between resources with comments
/// of templates (`#@`, `#!`), nor into collections in brackets.
pub fn heal_one(before: &Resource, after: &mut Resource) {
    let (old, new) = (before.to_string(), after.to_string());
    let is_template = |text: &str| TEMPLATE_MARKS.iter().any(|mark| text.contains(mark));
    if !old.contains('#') || is_template(&old) || is_template(&new) {
        return;
    }
    let mut lost = Lost::between(before, after);
    let plan = Plan::of(before.root(), after.root(), &mut lost);
    let (above, below) = around(before, after, &mut lost);
    let mut healed = after.document().clone();
    if healed.edit_together(|healed| plan.apply(healed.root_mut())).is_err() {
        return;
    }
    // Read again: what was written must mean what it meant.
    let text = [above, healed.to_string(), below].concat();
    if let Ok(mut healed) = Resource::parse(&text)
        && healed.means_the_same(after)
    {
        healed.set_origin(after.origin().cloned());
        *after = healed;
    }
}

/// Which resources are the same, as indexes of both.
fn partners(before: &[Resource], after: &[Resource]) -> Vec<(usize, usize)> {
    let (old, new) = (by_id(before), by_id(after));
    let mut found = Vec::new();
    for (id, olds) in &old {
        let Some(news) = new.get(id) else { continue };
        if let ([one], [other]) = (olds.as_slice(), news.as_slice()) {
            found.push((*one, *other));
            continue;
        }
        let (olds, news) = (by_place(before, olds), by_place(after, news));
        let same = olds.iter().filter_map(|(place, old)| Some(((*old)?, (*news.get(place)?)?)));
        found.extend(same);
    }
    found
}

/// The resources by file and place in the file; `None` where several say the same.
fn by_place(resources: &[Resource], among: &[usize]) -> HashMap<(String, Option<usize>), Option<usize>> {
    let mut found = HashMap::new();
    for index in among {
        let resource = &resources[*index];
        let path = resource.path().unwrap_or_default().into_owned();
        found.entry((path, resource.index())).and_modify(|only| *only = None).or_insert(Some(*index));
    }
    found
}

fn by_id(resources: &[Resource]) -> HashMap<ResourceId, Vec<usize>> {
    let mut found: HashMap<ResourceId, Vec<usize>> = HashMap::new();
    for (index, resource) in resources.iter().enumerate() {
        found.entry(resource.id()).or_default().push(index);
    }
    found
}

/// The comments of the document itself, to be put above and below its text.
fn around(before: &Resource, after: &Resource, lost: &mut Lost) -> (String, String) {
    let (old, new) = (before.document(), after.document());
    let mut above = String::new();
    let head = old.head_comment().filter(|_| new.head_comment().is_none() && !new.has_start_marker());
    if let Some(comment) = head.filter(|comment| lost.take(comment)) {
        above = format!("{comment}\n\n");
    }
    let mut below = String::new();
    let foot = old.foot_comment().filter(|_| new.foot_comment().is_none() && !new.has_end_marker());
    if let Some(comment) = foot.filter(|comment| lost.take(comment)) {
        below = format!("\n{comment}\n");
    }
    (above, below)
}

/// The lines of comment that are missing, with how often.
struct Lost(HashMap<String, usize>);

impl Lost {
    fn between(before: &Resource, after: &Resource) -> Self {
        let mut lines: HashMap<String, usize> = HashMap::new();
        each_line(before, |line| *lines.entry(line.into()).or_default() += 1);
        each_line(after, |line| {
            if let Some(count) = lines.get_mut(line) {
                *count = count.saturating_sub(1);
            }
        });
        Self(lines)
    }

    /// Whether all lines of a comment are missing; then they count as found.
    fn take(&mut self, comment: &str) -> bool {
        let lines = || comment.lines().map(str::trim).filter(|line| !line.is_empty());
        let missing = lines().all(|line| self.0.get(line).is_some_and(|count| *count > 0));
        if missing {
            for line in lines() {
                if let Some(count) = self.0.get_mut(line) {
                    *count = count.saturating_sub(1);
                }
            }
        }
        missing
    }
}

/// Calls `see` with each line of comment of a resource.
fn each_line(resource: &Resource, mut see: impl FnMut(&str)) {
    let document = resource.document();
    let mut see = |comment: Option<String>| {
        let comment = comment.unwrap_or_default();
        comment.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(&mut see);
    };
    [document.preface(), document.head_comment(), document.foot_comment()].into_iter().for_each(&mut see);
    let mut open = vec![document.root()];
    while let Some(node) = open.pop() {
        [node.head_comment(), node.line_comment(), node.foot_comment()].into_iter().for_each(&mut see);
        match node.kind() {
            Kind::Mapping => open.extend(node.entries().flat_map(|(key, value)| [key, value])),
            Kind::Sequence => open.extend(node.items()),
            Kind::Scalar | Kind::Alias => {}
        }
    }
}

/// The comment on the line of an entry, whoever owns it.
fn line_of(key: NodeRef<'_>, value: NodeRef<'_>) -> Option<String> {
    value.line_comment().or_else(|| key.line_comment())
}
