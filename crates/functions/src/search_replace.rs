//! `search-replace`.

mod pattern;

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Content, Document, Kind, NodeRef, Path, SequenceIndent, Style};
use regex::{Captures, Regex};

use crate::config::{self, Pair};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::go;
use crate::plan::{Change, Plan, keys};
use crate::report::{self, About, dotted};
use crate::setter::retyped;
use crate::sites::{self, Site, is_left_out};
use pattern::{FieldPattern, file_pattern};

/// Finds fields by value or by path, and changes them.
pub struct SearchReplace;

const KEYS: [&str; 6] = ["by-value", "by-file-path", "by-value-regex", "by-path", "put-value", "put-comment"];

impl Function for SearchReplace {
    fn name(&self) -> &'static str {
        "search-replace"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Finds scalars by their value, their path or both, and reports them, sets their value or sets the comment on their line. \
                      A path without wildcards and with `put-value`, but without a value to look for, sets the field in every resource, \
                      also where it is missing.",
            config: &[
                Field { path: "data.by-value", meaning: "the text that a scalar must have" },
                Field {
                    path: "data.by-value-regex",
                    meaning: "a regular expression that must fit somewhere in the scalar; not with `by-value`",
                },
                Field {
                    path: "data.by-path",
                    meaning: "the path of the field, as `spec.containers[0].image`; `*` is any element, `**` any number of them, `name[*]` any item",
                },
                Field {
                    path: "data.by-file-path",
                    meaning: "only resources from files that this pattern fits; `**` crosses folders",
                },
                Field {
                    path: "data.put-value",
                    meaning: "the new value; `${1}` is what the first group of the regular expression found",
                },
                Field { path: "data.put-comment", meaning: "the new comment of the line; with groups, too" },
            ],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  by-value-regex: nginx:(.*)\n  put-value: registry.example.com/nginx:${1}\n",
            deviations: &[
                Deviation {
                    there: "a comment is put into mappings and lists in brackets, where it breaks the text",
                    here: "that is an error",
                    fixtures: &["flow-comment"],
                },
                Deviation {
                    there: "the error of a regular expression is that of Go",
                    here: "other words; the language is the same but for rare classes",
                    fixtures: &["bad-regex"],
                },
                Deviation {
                    there: "a field that is set in every resource loses its comment, and gets none",
                    here: "it keeps it, and gets one if `put-comment` asks for it; the result shows it",
                    fixtures: &["set-everywhere", "absolute"],
                },
                Deviation {
                    there: "the path of a list that gets a comment is the pattern and the comment",
                    here: "it is the path",
                    fixtures: &["list-comment", "list-by-path"],
                },
                Deviation {
                    there: "a list with comments is shown in brackets, with the comments",
                    here: "it is shown as it is written",
                    fixtures: &["list-with-comments"],
                },
                Deviation {
                    there: "a field below one without a value is reported as set, but not written",
                    here: "it is written",
                    fixtures: &["absolute-below-null"],
                },
                Deviation {
                    there: "what is found in a resource without a path annotation is changed, but not reported",
                    here: "it is reported",
                    fixtures: &["by-value", "search-only", "alias-by-value", "example"],
                },
                Deviation {
                    there: "an alias is never found",
                    here: "one that `by-path` finds makes place for the value",
                    fixtures: &["alias"],
                },
                Deviation {
                    there: "words about a field on the way that is no mapping name types of Go",
                    here: "the message names the field",
                    fixtures: &["set-through-scalar"],
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
        match search(list) {
            Ok(()) => Ok(()),
            Err(message) => {
                let message = format!("failed to perform search-replace operation: {}", go::quote(&message));
                Err(Failure::report(list, report::error(message)))
            }
        }
    }
}

fn search(list: &mut ResourceList) -> Result<(), String> {
    let search = Search::read(list)?;
    let before = list.results.len();
    for item in &mut list.items {
        let in_file =
            search.file.as_ref().is_none_or(|file| item.path().is_some_and(|path| file.is_match(&path)));
        if !in_file || !search.asks() {
            continue;
        }
        let Planned { plan, found } = match &search.everywhere {
            Some(path) => search.set_everywhere(item, path),
            None => search.plan(item)?,
        };
        plan.apply(item).map_err(|error| error.message)?;
        let verb = if search.put_value.is_some() || search.put_comment.is_some() {
            "Mutated field value to"
        } else {
            "Matched field value"
        };
        for Found { path, shown } in found {
            let now = || item.root().find(&path).ok().map(written).unwrap_or_default();
            let message = format!("{verb} {}", go::quote(&shown.unwrap_or_else(now)));
            list.results.push(report::plain(message).at(&dotted(&path)).in_file_of(item));
        }
    }
    if list.results.len() == before {
        list.results.push(report::plain("no matches"));
    }
    Ok(())
}

struct Search {
    value: Option<String>,
    regex: Option<Regex>,
    path: Option<FieldPattern>,
    /// The path, when the field is to be set in every resource.
    everywhere: Option<Path>,
    file: Option<Regex>,
    put_value: Option<String>,
    put_comment: Option<String>,
}

/// What is to be done, and where something was found.
struct Planned {
    plan: Plan,
    found: Vec<Found>,
}

/// Where something was found, and how it is shown if not as it comes to be written.
struct Found {
    path: Path,
    shown: Option<String>,
}

impl Search {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let pairs: Vec<Pair> = match config::given(list) {
            Some(config) => config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?,
            None => Vec::new(),
        };
        if let Some(pair) = pairs.iter().find(|pair| !KEYS.contains(&pair.key.as_str())) {
            let allowed = go::list(KEYS.iter().map(|key| go::quote(key)));
            return Err(format!("invalid matcher {}, must be one of {allowed}", go::quote(&pair.key)));
        }
        let get = |key| config::value(&pairs, key).filter(|value| !value.is_empty());
        let (value, regex, path) = (get("by-value"), get("by-value-regex"), get("by-path"));
        if value.is_some() && regex.is_some() {
            return Err("only one of [\"by-value\", \"by-value-regex\"] can be provided".into());
        }
        let put_value = get("put-value").map(String::from);
        let absolute = |path: &&str| !path.contains(['*', '[']);
        let everywhere = path
            .filter(|_| value.is_none() && regex.is_none() && put_value.is_some())
            .filter(absolute)
            .map(|path| keys(path.split('.').filter(|key| !key.is_empty())));
        Ok(Self {
            value: value.map(Into::into),
            regex: regex.map(Regex::new).transpose().map_err(|error| error.to_string())?,
            path: path.map(FieldPattern::parse),
            everywhere: everywhere.filter(|path| !path.is_root()),
            file: get("by-file-path").map(file_pattern).transpose().map_err(|error| error.to_string())?,
            put_value,
            put_comment: get("put-comment").map(String::from),
        })
    }

    /// Whether it looks for anything.
    fn asks(&self) -> bool {
        self.value.is_some() || self.regex.is_some() || self.path.is_some()
    }

    fn plan(&self, item: &Resource) -> Result<Planned, String> {
        let mut planned = Planned { plan: Plan::default(), found: Vec::new() };
        for site in sites::all(item.root()) {
            if self.path.as_ref().is_some_and(|path| !path.matches(&site.path)) {
                continue;
            }
            match site.node.kind() {
                Kind::Scalar => self.plan_scalar(&site, &mut planned)?,
                Kind::Sequence => self.plan_list(&site, &mut planned),
                // Found by its value alone, an alias follows what it stands for.
                Kind::Alias if self.path.is_some() && site.node.target().kind() == Kind::Scalar => {
                    self.plan_scalar(&site, &mut planned)?;
                }
                Kind::Mapping | Kind::Alias => {}
            }
        }
        Ok(planned)
    }

    fn plan_scalar(&self, site: &Site<'_>, planned: &mut Planned) -> Result<(), String> {
        let node = site.node.target();
        let current = node.value();
        if self.value.as_ref().is_some_and(|value| *value != current) {
            return Ok(());
        }
        let groups = match &self.regex {
            Some(regex) => match regex.captures(&current) {
                Some(groups) => Some(groups),
                None => return Ok(()),
            },
            None => None,
        };
        if let Some(text) = &self.put_value {
            let text = resolve(text, groups.as_ref())?;
            if text != current {
                planned.plan.push(site.path.clone(), Change::Content(retyped(node, &text)));
            }
        }
        let mut shown = None;
        if let Some(text) = &self.put_comment {
            let comment = as_comment(&resolve(text, groups.as_ref())?);
            // Where no value is written, the comment is all there is.
            shown = Some(comment.clone()).filter(|_| self.put_value.is_none() && is_left_out(node));
            if site.line_comment().as_deref() != Some(&comment) {
                planned.plan.push(site.path.clone(), Change::LineComment(comment));
            }
        }
        planned.found.push(Found { path: site.path.clone(), shown });
        Ok(())
    }

    /// A list that is found by its path alone gets the comment.
    fn plan_list(&self, site: &Site<'_>, planned: &mut Planned) {
        let by_path_alone = self.value.is_none() && self.regex.is_none();
        let Some(text) = self.put_comment.as_ref().filter(|_| by_path_alone && site.key.is_some()) else {
            return;
        };
        let comment = as_comment(text);
        if site.node.style() == Style::Flow && !site.node.is_empty() {
            planned.plan.push(site.path.clone(), Change::LineComment(String::new()));
            planned.plan.push(site.path.clone(), Change::Block);
        }
        if site.line_comment().as_deref() != Some(&comment) {
            planned.plan.push(site.path.clone(), Change::LineComment(comment));
        }
        planned.found.push(Found { path: site.path.clone(), shown: Some(in_brackets(site.node)) });
    }

    fn set_everywhere(&self, item: &Resource, path: &Path) -> Planned {
        let mut plan = Plan::default();
        let text = self.put_value.as_deref().unwrap_or_default();
        let node = item.root().find(path).ok();
        let same = node.is_some_and(|node| sites::text(node).is_some_and(|is| is == text));
        if !same {
            let scalar = node.filter(|node| node.kind() == Kind::Scalar);
            let content = scalar.map_or_else(|| typed(text), |node| retyped(node, text));
            plan.push(path.clone(), Change::Content(content));
        }
        if let Some(comment) = &self.put_comment {
            plan.push(path.clone(), Change::LineComment(as_comment(comment)));
        }
        Planned { plan, found: vec![Found { path: path.clone(), shown: None }] }
    }
}

/// A text as somebody would have typed it.
fn typed(text: &str) -> Content {
    match Document::parse("plain") {
        Ok(document) => retyped(document.root(), text),
        Err(_) => Content::string(text),
    }
}

fn as_comment(text: &str) -> String {
    let text = text.lines().collect::<Vec<_>>().join(" ");
    if text.starts_with('#') { text } else { format!("# {text}") }
}

/// Puts groups in place of `${1}`; names stay as they are, and so does everything when there was no regular expression.
fn resolve(text: &str, groups: Option<&Captures<'_>>) -> Result<String, String> {
    let Some(groups) = groups else { return Ok(text.into()) };
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("${") {
        let Some(len) = rest[begin..].find('}') else { break };
        let name = &rest[begin + 2..begin + len];
        out.push_str(&rest[..begin]);
        match name.parse::<usize>() {
            Ok(number) => match groups.get(number) {
                Some(group) => out.push_str(group.as_str()),
                None => return Err("unable to resolve capture groups".into()),
            },
            Err(_) => out.push_str(&rest[begin..=begin + len]),
        }
        rest = &rest[begin + len + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A list in brackets, without comments.
fn in_brackets(node: NodeRef<'_>) -> String {
    let Some(mut document) = alone(node) else { return node.value().into_owned() };
    match document.root_mut().set_style(Style::Flow) {
        Ok(()) => encoded(&document),
        Err(_) => written(node),
    }
}

/// A value as it is written, with the comment on its line.
fn written(node: NodeRef<'_>) -> String {
    alone(node).map_or_else(|| node.value().into_owned(), |document| encoded(&document))
}

/// A document with nothing but this value.
fn alone(node: NodeRef<'_>) -> Option<Document> {
    let mut document = Document::parse("null").ok()?;
    document.root_mut().set(Content::from(node)).ok()?;
    Some(document)
}

/// A document as the tools write it that read messages.
fn encoded(document: &Document) -> String {
    lanai_yaml::encode_document(document, SequenceIndent::Compact).trim().to_owned()
}
