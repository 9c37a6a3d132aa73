//! `set-image`.

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::NodeRef;

use crate::config::{self, TYPED};
use crate::field_spec::{FieldSpec, Missing};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan};
use crate::pods::{PODS, Pod};
use crate::report::{self, About, dotted};
use crate::sites::text;

/// Sets the images of containers.
pub struct SetImage;

/// The lists of containers in a pod.
const CONTAINERS: &[&str] = &["containers", "initContainers", "ephemeralContainers"];

impl Function for SetImage {
    fn name(&self) -> &'static str {
        "set-image"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.1", "v0.1.2"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets name, tag or digest of the images that have a name, in all containers of pods and of what makes pods, those of resources \
                      for local tools included. A registry is part of the name; what is not given stays.",
            config: &[
                Field {
                    path: "data.name",
                    meaning: "the name of the images to change, with a tag to change only that; `image.name` in a `SetImage`, as for the others",
                },
                Field { path: "data.newName", meaning: "the new name" },
                Field { path: "data.newTag", meaning: "the new tag; a digest goes" },
                Field {
                    path: "data.digest",
                    meaning: "the new digest; the tag goes, and `newTag` does not count",
                },
                Field {
                    path: "additionalImageFields[]",
                    meaning: "further places in a `SetImage`: `group`, `version`, `kind`, `path` (with slashes), `create`",
                },
            ],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  name: nginx\n  newName: registry.example.com/nginx\n  newTag: 1.21.4\n",
            deviations: &[
                Deviation {
                    there: "the name is a pattern",
                    here: "it is a text: a dot is a dot",
                    fixtures: &["dots"],
                },
                Deviation {
                    there: "init containers are not updated in releases up to v0.1.2, nor are ephemeral ones, jobs and pod templates",
                    here: "all containers of all kinds that have pods",
                    fixtures: &["all-containers"],
                },
                Deviation {
                    there: "a new name alone loses the separator of tag or digest in releases up to v0.1.2",
                    here: "tag and digest stay",
                    fixtures: &["new-name"],
                },
                Deviation {
                    there: "errors stand twice in the results of releases up to v0.1.2",
                    here: "once, in the words of later releases",
                    fixtures: &[
                        "no-name",
                        "no-config",
                        "nothing-to-set",
                        "typed-no-name",
                        "unknown-key",
                        "wrong-kind",
                        "wrong-type",
                    ],
                },
                Deviation {
                    there: "with `additionalImageFields`, every resource is written anew, without comments",
                    here: "only images change",
                    fixtures: &["typed", "additional-fields"],
                },
                Deviation {
                    there: "an image with an anchor loses it, and its aliases break the text",
                    here: "the anchor stays, and its aliases follow",
                    fixtures: &["digest"],
                },
                Deviation {
                    there: "a pod of the wrong shape is passed over",
                    here: "it is an error",
                    fixtures: &["wrong-target"],
                },
                Deviation {
                    there: "crashes on a template of pods without `spec`",
                    here: "there is nothing to change",
                    fixtures: &["template-without-spec"],
                },
                Deviation {
                    there: "a value that is replaced loses its quotes (in later releases it keeps them)",
                    here: "it keeps them",
                    fixtures: &["tag", "images", "only-one-tag"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let from = list.results.len();
        if config::given(list).is_none() {
            list.results.push(report::info("`FunctionConfig` is not given"));
        }
        let settings = match Settings::read(list) {
            Ok(settings) => settings,
            Err(message) => {
                let error = report::error(format!("invalid FunctionConfig: {message}"));
                let error = match config::given(list) {
                    Some(config) => error.about(&config),
                    None => error,
                };
                let failure = Failure::report(list, error);
                list.results.push(summary(0));
                return Err(failure);
            }
        };
        let mut count = 0;
        for item in &mut list.items {
            let (plan, wrong) = settings.plan(item);
            list.results.extend(wrong);
            let changes = plan.len();
            match plan.apply(item) {
                Ok(()) => count += changes,
                Err(error) => list.results.push(*error),
            }
        }
        list.results.push(summary(count));
        Failure::if_reported(list, from)
    }
}

fn summary(count: usize) -> lanai_krm::ResultItem {
    report::info(format!("summary: updated a total of {count} image(s)"))
}

struct Settings {
    name: String,
    new_name: Option<String>,
    new_tag: Option<String>,
    digest: Option<String>,
    fields: Vec<FieldSpec>,
}

impl Settings {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let no_name = "must specify `name`";
        let config = config::given(list).ok_or(no_name)?;
        let typed = config::is(&config, TYPED, "SetImage");
        if !typed && !config::is(&config, "v1", "ConfigMap") {
            let kind = config.kind().unwrap_or_default();
            return Err(format!("unknown FunctionConfig `{kind}`, expect SetImage"));
        }
        let wrong = |wrong: config::Wrong| wrong.to_string();
        let pairs = config::pairs(&config, if typed { "image" } else { "data" }).map_err(wrong)?;
        let known = ["name", "newName", "newTag", "digest"];
        if let Some(pair) = pairs.iter().find(|pair| !known.contains(&pair.key.as_str())) {
            return Err(format!("ConfigMap has wrong field name {}", pair.key));
        }
        let get = |key| config::value(&pairs, key).filter(|value| !value.is_empty()).map(String::from);
        let name = get("name").ok_or(no_name)?;
        let (new_name, new_tag, digest) = (get("newName"), get("newTag"), get("digest"));
        if new_name.is_none() && new_tag.is_none() && digest.is_none() {
            return Err("must specify one of `newName`, `newTag`, or `digest`".into());
        }
        let mut fields = standard();
        if typed {
            let list = config::list(config.root(), "additionalImageFields").map_err(wrong)?;
            for node in list.into_iter().flat_map(NodeRef::items) {
                fields.push(FieldSpec::read(node, "additionalImageFields").map_err(wrong)?);
            }
        }
        Ok(Self { name, new_name, new_tag, digest, fields })
    }

    fn plan(&self, item: &Resource) -> (Plan, Vec<lanai_krm::ResultItem>) {
        let mut plan = Plan::default();
        let mut wrong = Vec::new();
        let id = item.id();
        for spec in self.fields.iter().filter(|spec| spec.matches(&id)) {
            let places = match spec.places(item) {
                Ok(places) => places,
                Err(path) => {
                    let path = dotted(&path);
                    let message = format!(
                        "the field \"{path}\" is a scalar, a mapping is expected on the way to an image"
                    );
                    let error = report::error(message).about(item).at(&path).in_file_of(item);
                    if !wrong.contains(&error) {
                        wrong.push(error);
                    }
                    continue;
                }
            };
            for place in places {
                let Some(image) = place.node.and_then(text) else { continue };
                if let Some(new) = self.image(&image).filter(|new| *new != image) {
                    plan.push(place.path, Change::Text(new));
                }
            }
        }
        (plan, wrong)
    }

    /// The new image; `None` when the old one has another name.
    fn image(&self, old: &str) -> Option<String> {
        let asked = Image::parse(&self.name);
        let (rest, digest) = old.split_once('@').map_or((old, None), |(rest, digest)| (rest, Some(digest)));
        let is = Image::parse(rest);
        if is.name != asked.name || asked.tag.is_some() && asked.tag != is.tag {
            return None;
        }
        let name = self.new_name.as_deref().unwrap_or(is.name);
        let suffix = match (&self.digest, &self.new_tag) {
            (Some(digest), _) => format!("@{digest}"),
            (None, Some(tag)) => format!(":{tag}"),
            (None, None) => {
                let part = |mark: &str, text: Option<&str>| {
                    text.map(|text| format!("{mark}{text}")).unwrap_or_default()
                };
                part(":", is.tag) + &part("@", digest)
            }
        };
        Some(format!("{name}{suffix}"))
    }
}

/// An image without its digest.
struct Image<'a> {
    name: &'a str,
    tag: Option<&'a str>,
}

impl<'a> Image<'a> {
    /// Splits the tag from the name. A colon in the registry's part is that of its port.
    fn parse(text: &'a str) -> Self {
        match text.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => Self { name, tag: Some(tag) },
            _ => Self { name: text, tag: None },
        }
    }
}

fn standard() -> Vec<FieldSpec> {
    let spec = |kind: &str, path: String| FieldSpec {
        group: String::new(),
        version: String::new(),
        kind: kind.into(),
        path,
        missing: Missing::Skip,
    };
    let in_pod = |pod: &Pod| {
        CONTAINERS
            .iter()
            .map(|list| spec(pod.kind, format!("{}/{list}[]/image", pod.path)))
            .collect::<Vec<_>>()
    };
    PODS.iter().flat_map(in_pod).collect()
}
