//! Which functions run where: the index of `FunctionConfig` objects.
//!
//! The index is a value that is made of all objects at once, so that nothing of an object that is gone stays. It does no I/O.

use std::collections::BTreeMap;
use std::fmt;

use lanai_krm::Resource;
use lanai_types::quote::Quoted;
use lanai_yaml::NodeRef;

/// The group of the objects, whatever their version.
const GROUP: &str = "config.porch.kpt.dev/";
const KIND: &str = "FunctionConfig";
/// The annotation by which somebody vouches that a function answers alike to equal lists.
pub const DETERMINISTIC: &str = "lanai.dev/deterministic";

/// One object: a function, and who runs which tags of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionConfig {
    /// The name of the object.
    pub name: String,
    /// The image, without registry and tag.
    pub image: String,
    /// Registries under which it is known, beside the default one; an empty one is no registry.
    pub prefixes: Vec<String>,
    /// A function that comes with the program.
    pub native: Option<NativeExecutor>,
    /// A program.
    pub binary: Option<BinaryExecutor>,
    /// Pods.
    pub pod: Option<PodExecutor>,
    /// Whether equal lists give equal answers, as somebody vouches for.
    pub deterministic: bool,
}

/// A function that comes with the program: `goExecutor`, or `nativeExecutor`, which is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeExecutor {
    /// Which one; the name of the image where nothing is said.
    pub id: String,
    /// For which tags.
    pub tags: Vec<String>,
}

/// A program: `binaryExecutor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinaryExecutor {
    /// Where it is, seen from the folder of functions.
    pub path: String,
    /// For which tags.
    pub tags: Vec<String>,
}

/// Pods: `podExecutor`. Nothing runs them yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodExecutor {
    /// For which tags; and for all that no other executor names.
    pub tags: Vec<String>,
}

/// Who runs an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The object that says so.
    pub config: String,
    /// Who.
    pub executor: Executor,
    /// Whether its answers may be kept.
    pub deterministic: bool,
}

/// Who runs an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executor {
    /// The function of that name that comes with the program.
    Native(String),
    /// The program at that path, seen from the folder of functions.
    Binary(String),
    /// A pod.
    Pod,
}

/// An object that is not used, or not as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The object.
    pub config: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionConfig {}: {}", Quoted(&self.config), self.what)
    }
}

/// All objects, made to be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionConfigs {
    exact: BTreeMap<String, Match>,
    /// Images without a tag that go to pods whatever their tag.
    pods: BTreeMap<String, Match>,
    problems: Vec<Problem>,
}

impl FunctionConfig {
    /// Reads an object. None if it is of another kind.
    pub fn of(resource: &Resource) -> Option<Result<Self, Problem>> {
        let is_it = resource.kind().is_some_and(|kind| kind == KIND)
            && resource.api_version().is_some_and(|version| version.starts_with(GROUP));
        if !is_it {
            return None;
        }
        let name = resource.name().unwrap_or_default().into_owned();
        let spec = resource.root().get("spec");
        let image = spec.and_then(|spec| text(spec, "image")).unwrap_or_default();
        if image.is_empty() {
            return Some(Err(Problem { config: name, what: "spec.image is missing".to_owned() }));
        }
        let at = |key: &str| spec.and_then(|spec| spec.get(key)).filter(|node| !node.is_null());
        let native = at("nativeExecutor").or_else(|| at("goExecutor")).map(|node| NativeExecutor {
            id: text(node, "id").filter(|id| !id.is_empty()).unwrap_or_else(|| image.clone()),
            tags: texts(node, "tags"),
        });
        let binary = at("binaryExecutor").map(|node| BinaryExecutor {
            path: text(node, "path").unwrap_or_default(),
            tags: texts(node, "tags"),
        });
        if binary.as_ref().is_some_and(|binary| binary.path.is_empty()) {
            return Some(Err(Problem {
                config: name,
                what: "spec.binaryExecutor.path is missing".to_owned(),
            }));
        }
        let pod = at("podExecutor").map(|node| PodExecutor { tags: texts(node, "tags") });
        let prefixes = spec.map(|spec| texts(spec, "prefixes")).unwrap_or_default();
        let deterministic = resource.annotation(DETERMINISTIC).is_some_and(|value| value == "true");
        Some(Ok(Self { name, image, prefixes, native, binary, pod, deterministic }))
    }

    /// The images that the object is about, without tags.
    fn images(&self, default_prefix: &str) -> Vec<String> {
        let prefixes = std::iter::once(default_prefix).chain(self.prefixes.iter().map(String::as_str));
        let image = |prefix: &str| match prefix.trim_end_matches('/') {
            "" => self.image.clone(),
            prefix => format!("{prefix}/{}", self.image),
        };
        let mut images: Vec<String> = prefixes.map(image).collect();
        images.sort();
        images.dedup();
        images
    }

    fn matched(&self, executor: Executor) -> Match {
        Match { config: self.name.clone(), executor, deterministic: self.deterministic }
    }
}

impl FunctionConfigs {
    /// The index of all objects. Of two for one image, the first by name counts; of two executors for one tag, the native one before the
    /// program, and that before pods.
    pub fn build(objects: impl IntoIterator<Item = FunctionConfig>, default_prefix: &str) -> Self {
        let mut objects: Vec<FunctionConfig> = objects.into_iter().collect();
        objects.sort_by(|one, other| one.name.cmp(&other.name));
        let mut index = Self::default();
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for object in objects {
            if let Some(owner) = owners.get(&object.image) {
                let what = format!(
                    "FunctionConfig {} is about the image {} already",
                    Quoted(owner),
                    Quoted(&object.image)
                );
                index.problems.push(Problem { config: object.name, what });
                continue;
            }
            owners.insert(object.image.clone(), object.name.clone());
            index.add(&object, default_prefix);
        }
        index
    }

    fn add(&mut self, object: &FunctionConfig, default_prefix: &str) {
        for image in object.images(default_prefix) {
            let mut put = |tags: &[String], executor: &Executor| {
                for tag in tags {
                    let full = format!("{image}:{tag}");
                    self.exact.entry(full).or_insert_with(|| object.matched(executor.clone()));
                }
            };
            if let Some(native) = &object.native {
                put(&native.tags, &Executor::Native(native.id.clone()));
            }
            if let Some(binary) = &object.binary {
                put(&binary.tags, &Executor::Binary(binary.path.clone()));
            }
            if let Some(pod) = &object.pod {
                put(&pod.tags, &Executor::Pod);
                self.pods.entry(image).or_insert_with(|| object.matched(Executor::Pod));
            }
        }
    }

    /// Who runs an image, by its full name. The one that is named with its tag is better than the one for all tags; digests mean exactly one
    /// program, and only pods can run that.
    pub fn find(&self, image: &str) -> Option<&Match> {
        self.exact.get(image).or_else(|| self.pods.get(without_version(image)))
    }

    /// Objects that are not used.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// The image without tag and digest. A colon before the last slash is that of a port.
fn without_version(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    image[name..].find(':').map_or(image, |colon| &image[..name + colon])
}

fn text(node: NodeRef<'_>, key: &str) -> Option<String> {
    let value = node.get(key)?;
    (!value.is_null()).then(|| value.target().value().into_owned())
}

fn texts(node: NodeRef<'_>, key: &str) -> Vec<String> {
    let items = node.get(key).into_iter().flat_map(NodeRef::items);
    items.map(|item| item.target().value().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

    fn index(texts: &[&str]) -> FunctionConfigs {
        let objects = texts.iter().map(|text| {
            let text = format!("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\n{text}");
            FunctionConfig::of(&Resource::parse(&text).unwrap()).unwrap().unwrap()
        });
        FunctionConfigs::build(objects, PREFIX)
    }

    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "tables read better with values")]
    fn check(index: &FunctionConfigs, image: &str, expected: Option<Executor>) {
        assert_eq!(index.find(image).map(|found| found.executor.clone()), expected, "{image}");
    }

    const NAMESPACE: &str = "metadata: {name: set-namespace}
spec:
  image: set-namespace
  prefixes: ['', example.com:5000/own/]
  binaryExecutor: {tags: [v0.4.2, v0.4.5], path: bin/set-namespace}
  podExecutor: {tags: [v0.4.1], timeToLive: 30m}
  goExecutor: {id: namespace, tags: [v0.4, v0.4.5]}
";

    #[test]
    fn tags_go_to_their_executors_under_every_prefix() {
        let index = index(&[NAMESPACE]);
        for prefix in ["", "ghcr.io/kptdev/krm-functions-catalog/", "example.com:5000/own/"] {
            let check =
                |tag: &str, expected| check(&index, &format!("{prefix}set-namespace{tag}"), Some(expected));
            check(":v0.4", Executor::Native("namespace".into()));
            check(":v0.4.5", Executor::Native("namespace".into()));
            check(":v0.4.2", Executor::Binary("bin/set-namespace".into()));
            check(":v0.4.1", Executor::Pod);
            check(":v9", Executor::Pod);
            check("", Executor::Pod);
            check("@sha256:00", Executor::Pod);
        }
        check(&index, "other.example.com/set-namespace:v0.4", None);
        check(&index, "set-labels:v0.4", None);
    }

    #[test]
    fn tags_that_nobody_names_have_no_executor_without_pods() {
        let index = index(&["metadata: {name: a}\nspec: {image: a, nativeExecutor: {tags: [v1]}}\n"]);
        check(&index, &format!("{PREFIX}/a:v1"), Some(Executor::Native("a".into())));
        check(&index, &format!("{PREFIX}/a:v2"), None);
        check(&index, "a:v1", None);
    }

    #[test]
    fn of_two_for_one_image_the_first_by_name_counts() {
        let one = "metadata: {name: b}\nspec: {image: x, goExecutor: {id: late, tags: [v1]}}\n";
        let other = "metadata: {name: a}\nspec: {image: x, goExecutor: {id: early, tags: [v1]}}\n";
        for index in [index(&[one, other]), index(&[other, one])] {
            check(&index, &format!("{PREFIX}/x:v1"), Some(Executor::Native("early".into())));
            let problems: Vec<String> = index.problems().iter().map(ToString::to_string).collect();
            assert_eq!(
                problems,
                ["FunctionConfig \"b\": FunctionConfig \"a\" is about the image \"x\" already"]
            );
        }
        assert!(index(&[one]).problems().is_empty(), "nothing of the other one stays");
    }

    #[test]
    fn what_is_no_such_object_is_told() {
        let of = |text: &str| FunctionConfig::of(&Resource::parse(text).unwrap());
        assert_eq!(of("apiVersion: v1\nkind: FunctionConfig\nmetadata: {name: a}\n"), None);
        let head = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\nmetadata: {name: a}\n";
        assert_eq!(of(head).unwrap().unwrap_err().what, "spec.image is missing");
        let text = format!("{head}spec: {{image: x, binaryExecutor: {{tags: [v1]}}}}\n");
        assert_eq!(of(&text).unwrap().unwrap_err().what, "spec.binaryExecutor.path is missing");
    }

    #[test]
    fn somebody_can_vouch_for_a_function() {
        let text = "metadata: {name: a, annotations: {lanai.dev/deterministic: 'true'}}\nspec: {image: a, binaryExecutor: {path: a, tags: [v1]}}\n";
        assert!(index(&[text]).find(&format!("{PREFIX}/a:v1")).unwrap().deterministic);
    }
}
