//! `create-setters`.

use lanai_krm::{Resource, ResourceList, ResultItem};
use lanai_yaml::{Document, Kind, NodeRef, Style};

use crate::config::{self, Pair};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::go;
use crate::plan::{Change, Plan};
use crate::report::{self, About, dotted};
use crate::setter::{MARKER, Pattern};
use crate::sites::{self, Site};

/// Adds the comments that `apply-setters` looks for.
pub struct CreateSetters;

const PREFIX: &str = "failed to create setters: ";

impl Function for CreateSetters {
    fn name(&self) -> &'static str {
        "create-setters"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Adds a comment with a setter to every field that has the value of one: to scalars that contain it, and to lists \
                      with the same items in any order. Longer values are looked for first, equal ones by the name of the setter. \
                      Comments that stand on these lines are replaced.",
            config: &[Field { path: "data", meaning: "the setters: names and values" }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: setters\ndata:\n  image: nginx\n  tag: 1.16.2\n",
            deviations: &[
                Deviation {
                    there: "two setters with the same value: one of them, by chance",
                    here: "the first by name",
                    fixtures: &["same-value"],
                },
                Deviation {
                    there: "writes comments into mappings in braces, where they break the text",
                    here: "a warning says that there is no place for the comment",
                    fixtures: &["flow"],
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
        let setters = match Setters::read(list) {
            Ok(setters) => setters,
            Err(message) => return Err(Failure::report(list, report::error(format!("{PREFIX}{message}")))),
        };
        let mut found = 0;
        for item in &mut list.items {
            let mut planned = Planned { item, plan: Plan::default(), results: Vec::new() };
            let root = Site { path: lanai_yaml::Path::root(), key: None, node: item.root() };
            visit(&root, Room::Lines, &setters, &mut planned);
            let Planned { plan, results, .. } = planned;
            found += results.len();
            list.results.extend(results);
            if let Err(error) = plan.apply(item) {
                return Err(Failure::report(list, *error));
            }
        }
        if found == 0 {
            let message = format!("{PREFIX}no matches for the input list of setters");
            return Err(Failure::report(list, report::error(message)));
        }
        Ok(())
    }
}

struct Setters {
    /// The longest value first.
    scalars: Vec<Pair>,
    lists: Vec<ListSetter>,
}

struct ListSetter {
    name: String,
    items: Vec<String>,
}

impl Setters {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let config = config::given(list).ok_or("config map cannot be empty")?;
        let mut pairs = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
        if pairs.is_empty() {
            return Err("config map cannot be empty".into());
        }
        pairs.sort_by(|one, other| other.value.len().cmp(&one.value.len()).then(one.key.cmp(&other.key)));
        let mut setters = Self { scalars: Vec::new(), lists: Vec::new() };
        for pair in pairs {
            let document = Document::parse(pair.value.as_str()).ok().filter(|document| !document.is_empty());
            let Some(document) = document else { return Err("parsing error".into()) };
            match document.root().kind() {
                Kind::Sequence => {
                    setters
                        .lists
                        .extend(texts(document.root()).map(|items| ListSetter { name: pair.key, items }));
                }
                Kind::Scalar if !pair.value.trim_end().contains('\n') => {
                    let value = document.root().value().into_owned();
                    setters.scalars.push(Pair { key: pair.key, value });
                }
                Kind::Scalar | Kind::Mapping | Kind::Alias => {}
            }
        }
        Ok(setters)
    }
}

/// The items of a list of scalars, sorted.
fn texts(list: NodeRef<'_>) -> Option<Vec<String>> {
    let text = |item: NodeRef<'_>| Some(sites::text(item)?.into_owned());
    let mut texts: Vec<String> = list.items().map(text).collect::<Option<_>>()?;
    texts.sort();
    Some(texts)
}

/// Whether there is room for a comment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// Values stand on lines of their own.
    Lines,
    /// They are items of a list in brackets, which can be brought to lines.
    List,
    /// They stand in braces.
    None,
}

struct Planned<'a> {
    item: &'a Resource,
    plan: Plan,
    results: Vec<ResultItem>,
}

impl Planned<'_> {
    fn comment(&mut self, site: &Site<'_>, pattern: &str, shown: &str) {
        let message =
            format!("Added line comment \"kpt-set: {pattern}\" for field with value {}", go::quote(shown));
        self.results.push(report::plain(message).at(&dotted(&site.path)).in_file_of(self.item));
        let comment = format!("{MARKER}{pattern}");
        if site.line_comment().as_deref() != Some(&comment) {
            self.plan.push(site.path.clone(), Change::LineComment(comment));
        }
    }

    fn no_room(&mut self, site: &Site<'_>, pattern: &str) {
        let path = dotted(&site.path);
        let message = format!(
            "the field \"{path}\" has the value of \"{pattern}\", but stands in braces, where a comment has no place"
        );
        self.results.push(report::warning(message).about(self.item).at(&path).in_file_of(self.item));
    }
}

/// Looks at a mapping or a list: first at the lists in it, then at everything in order.
fn visit(site: &Site<'_>, room: Room, setters: &Setters, planned: &mut Planned<'_>) {
    let children = sites::children(site);
    for child in children.iter().filter(|child| child.node.kind() == Kind::Sequence && child.key.is_some()) {
        list(child, room, setters, planned);
    }
    let mut to_block =
        site.node.kind() == Kind::Sequence && site.node.style() == Style::Flow && room == Room::List;
    for child in &children {
        match child.node.kind() {
            Kind::Scalar => {
                let Some(pattern) = pattern_of(child.node, setters) else { continue };
                if room == Room::None {
                    planned.no_room(child, &pattern);
                    continue;
                }
                if std::mem::take(&mut to_block) {
                    planned.plan.push(site.path.clone(), Change::Block);
                }
                planned.comment(child, &pattern, &child.node.value());
            }
            Kind::Mapping | Kind::Sequence => {
                let flow = child.node.style() == Style::Flow;
                let room = match (room, child.node.kind()) {
                    (Room::Lines, _) if !flow => Room::Lines,
                    (Room::Lines, Kind::Sequence) if child.key.is_some() => Room::List,
                    _ => Room::None,
                };
                visit(child, room, setters, planned);
            }
            Kind::Alias => {}
        }
    }
}

fn list(site: &Site<'_>, room: Room, setters: &Setters, planned: &mut Planned<'_>) {
    let Some(items) = texts(site.node).filter(|items| !items.is_empty()) else { return };
    let Some(setter) = setters.lists.iter().find(|setter| setter.items == items) else { return };
    let pattern = format!("${{{}}}", setter.name);
    if room != Room::Lines {
        return planned.no_room(site, &pattern);
    }
    if site.node.style() == Style::Flow {
        planned.plan.push(site.path.clone(), Change::LineComment(String::new()));
        planned.plan.push(site.path.clone(), Change::Block);
    }
    planned.comment(site, &pattern, &go::list(items));
}

/// The pattern that a scalar becomes.
fn pattern_of(node: NodeRef<'_>, setters: &Setters) -> Option<String> {
    let text = sites::text(node).filter(|text| !text.contains('\n'))?;
    Pattern::of_text(&text, &setters.scalars).map(|pattern| pattern.to_string())
}
