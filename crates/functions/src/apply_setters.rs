//! `apply-setters`.

use std::collections::BTreeMap;

use lanai_krm::{Resource, ResourceList, ResultItem};
use lanai_yaml::{Document, Kind};

use crate::config::{self, Pair};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::go;
use crate::plan::{Change, Plan};
use crate::report::{self, About, dotted};
use crate::setter::{Pattern, retyped};
use crate::sites::{self, Site, is_left_out};

/// Sets the fields whose comments name setters.
pub struct ApplySetters;

const PREFIX: &str = "failed to apply setters: ";

impl Function for ApplySetters {
    fn name(&self) -> &'static str {
        "apply-setters"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1", "v0.2.2"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets every field whose line comment is `# kpt-set: ` and a pattern, such as `${image}:${tag}`, from the values of \
                      setters. A pattern that names none of the given setters is left alone; holes that are not given keep what they have, as \
                      far as that can be told from the value. The comment of a list names one setter, whose value is a YAML list.",
            config: &[Field {
                path: "data",
                meaning: "the setters: names and values. Any kind of resource will do",
            }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: setters\ndata:\n  tag: 1.2.3\n  environments: |\n    - dev\n    - stage\n",
            deviations: &[
                Deviation {
                    there: "the value `[]` for a list writes broken YAML",
                    here: "it is an empty list, as is the empty value",
                    fixtures: &["lists-empty-brackets"],
                },
                Deviation {
                    there: "comments of the items of a list are lost; a list with the same items in brackets comes to stand on lines of its own",
                    here: "items that stay keep their comments; a list with the same items stays as it is",
                    fixtures: &["lists", "lists-grow", "lists-same"],
                },
                Deviation {
                    there: "a value that contains `${other}` is expanded or not, by chance",
                    here: "values are put in as they are",
                    fixtures: &["value-with-hole"],
                },
                Deviation {
                    there: "holes that are not given are looked for in the value without regard to those that are: `r/a/b` for `${registry}/${image}` with the image `a/b` becomes `r/a/a/b`, and grows in every run",
                    here: "where the given values are in their places already, nothing changes",
                    fixtures: &["recover-again"],
                },
                Deviation {
                    there: "comments behind an alias are not seen",
                    here: "the alias makes place for the value",
                    fixtures: &["alias"],
                },
                Deviation {
                    there: "a list or a mapping in place of a text counts as empty, or is refused in words that name types of Go",
                    here: "it is refused; the message names the field",
                    fixtures: &["wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let setters = match setters(list) {
            Ok(setters) => setters,
            Err(message) => return Err(Failure::report(list, report::error(format!("{PREFIX}{message}")))),
        };
        let mut results = Vec::new();
        for item in &mut list.items {
            let (plan, found) = match plan(item, &setters) {
                Ok(planned) => planned,
                Err(error) => {
                    list.results.extend(results);
                    return Err(Failure::report(list, *error));
                }
            };
            results.extend(found);
            if let Err(error) = plan.apply(item) {
                list.results.extend(results);
                return Err(Failure::report(list, *error));
            }
        }
        if results.is_empty() {
            results.push(report::plain("no matches for input setter(s)"));
        }
        list.results.extend(results);
        Ok(())
    }
}

/// The setters of a configuration.
fn setters(list: &ResourceList) -> Result<Vec<Pair>, String> {
    match config::given(list) {
        Some(config) => config::pairs(&config, "data").map_err(|wrong| wrong.to_string()),
        None => Ok(Vec::new()),
    }
}

fn plan(item: &Resource, setters: &[Pair]) -> Result<(Plan, Vec<ResultItem>), Box<ResultItem>> {
    let mut plan = Plan::default();
    let mut results = Vec::new();
    for site in sites::all(item.root()) {
        let Some(pattern) = site.line_comment().as_deref().and_then(Pattern::of_comment) else { continue };
        let is_given = |name: &str| config::value(setters, name).is_some();
        if !pattern.holes().any(is_given) {
            continue;
        }
        let planned = match site.node.kind() {
            Kind::Scalar if is_left_out(site.node) => continue,
            Kind::Scalar => scalar(&site, &pattern, setters),
            Kind::Sequence => list_of(&site, &pattern, setters),
            Kind::Alias if site.node.target().kind() == Kind::Scalar => scalar(&site, &pattern, setters),
            Kind::Mapping | Kind::Alias => continue,
        };
        let path = dotted(&site.path);
        let error = |message: String| {
            Box::new(report::error(format!("{PREFIX}{message}")).about(item).at(&path).in_file_of(item))
        };
        let Planned { change, shown } = planned.map_err(error)?;
        results.push(
            report::plain(format!("set field value to {}", go::quote(&shown))).at(&path).in_file_of(item),
        );
        if let Some(change) = change {
            plan.push(site.path.clone(), change);
        }
    }
    Ok((plan, results))
}

/// What becomes of a field, and how its value is shown.
struct Planned {
    change: Option<Change>,
    shown: String,
}

fn scalar(site: &Site<'_>, pattern: &Pattern, setters: &[Pair]) -> Result<Planned, String> {
    let node = site.node.target();
    let current = node.value();
    let given = |name: &str| config::value(setters, name);
    let fill = |recovered: &BTreeMap<String, String>| {
        pattern.fill(|name| given(name).or_else(|| recovered.get(name).map(String::as_str)))
    };
    // Where the values are in their places already, the other holes have what is around them.
    let set = fill(&pattern.with(given).recover(&current)).ok().filter(|text| *text == current);
    let text = set.map_or_else(|| fill(&pattern.recover(&current)), Ok).map_err(|open| {
        let open = open.iter().map(|name| format!("${{{name}}}"));
        format!("values for setters {} must be provided", go::list(open))
    })?;
    let change = (text != current || node.tag().is_some()).then(|| Change::Content(retyped(node, &text)));
    Ok(Planned { change, shown: text })
}

fn list_of(site: &Site<'_>, pattern: &Pattern, setters: &[Pair]) -> Result<Planned, String> {
    let name = pattern.only_hole().ok_or_else(|| {
        format!("invalid setter pattern for array node: {}", go::quote(&pattern.to_string()))
    })?;
    let value = config::value(setters, name).unwrap_or_default();
    let wrong =
        || format!("input to array setter must be an array of values, but found {}", go::quote(value));
    let document = Document::parse(value).map_err(|_| wrong())?;
    let root = document.root();
    if root.kind() != Kind::Sequence && !document.is_empty() {
        return Err(wrong());
    }
    let change = Change::Items { items: document, comment: site.line_comment().unwrap_or_default() };
    Ok(Planned { change: Some(change), shown: value.into() })
}
