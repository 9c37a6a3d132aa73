//! Cases that kpt has answered.

use std::fmt::Write;

use lanai_krm::digest::blob_id;

use super::files::Files;
use super::variants;

/// A merge: three packages, and what of ours differs from kpt's answer.
pub struct Case {
    pub name: &'static str,
    pub sides: [Files; 3],
    /// The row of the table in `docs/upgrades.md` that says how we differ; `None` where values are equal.
    pub row: Option<&'static str>,
    pub strategy: &'static str,
}

impl Case {
    /// What kpt is asked, as the id that Git has for all of it: an answer belongs to one question.
    pub fn digest(&self) -> String {
        let mut text = format!("{}\n", self.strategy);
        for (side, files) in ["original", "upstream", "local"].into_iter().zip(&self.sides) {
            for (path, content) in &files.0 {
                write!(text, "{side} {path} {}\n{content}", content.len()).unwrap();
            }
        }
        blob_id(text.as_bytes()).unwrap().to_string()
    }
}

/// Resources with some fields.
pub struct Heads;

impl Heads {
    fn thing(spec: &str) -> String {
        format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\n{spec}")
    }

    fn service(ports: &str) -> String {
        format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  type: x\n{ports}")
    }

    pub fn pod(spec: &str) -> String {
        format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n{spec}")
    }

    fn map(name: &str, value: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: {value}\n")
    }

    fn kptfile(rest: &str) -> String {
        format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n{rest}")
    }
}

pub fn case(name: &'static str, sides: [Files; 3], row: Option<&'static str>) -> Case {
    Case { name, sides, row, strategy: "resource-merge" }
}

pub fn one(path: &str, sides: [String; 3]) -> [Files; 3] {
    sides.map(|text| if text.is_empty() { Files::default() } else { Files::default().with(path, &text) })
}

/// Field by field: name, original, upstream, local.
pub type Row = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>);

const NULL: Option<&str> = Some("explicit null");
const REMOVED_UPSTREAM: Option<&str> = Some("mapping removed upstream, unchanged here");
const REMOVED_HERE: Option<&str> = Some("mapping or keyed list removed here, unchanged upstream");
const BACK: Option<&str> = Some("mapping or list item removed here, changed upstream");
const STUB: Option<&str> = Some("list item removed upstream, edited here");
const KINDS: Option<&str> = Some("scalar, mapping and list on different sides");

const FIELDS: &[Row] = &[
    ("scalar unchanged upstream", "v: 1\n", "v: 1\n", "v: 5\n", None),
    ("scalar added upstream", "w: 1\n", "w: 1\nv: 2\n", "w: 1\n", None),
    ("scalar added on both sides", "w: 1\n", "w: 1\nv: 2\n", "w: 1\nv: 3\n", None),
    ("scalar added alike", "w: 1\n", "w: 1\nv: 2\n", "w: 1\nv: 2\n", None),
    ("scalar changed upstream", "v: 1\n", "v: 2\n", "v: 1\n", None),
    ("scalar changed on both sides", "v: 1\n", "v: 2\n", "v: 3\n", None),
    ("scalar changed upstream and removed here", "w: 1\nv: 1\n", "w: 1\nv: 2\n", "w: 1\n", None),
    ("scalar removed upstream", "w: 1\nv: 1\n", "w: 1\n", "w: 1\nv: 1\n", None),
    ("scalar removed upstream and changed here", "w: 1\nv: 1\n", "w: 1\n", "w: 1\nv: 3\n", None),
    ("scalar removed here", "w: 1\nv: 1\n", "w: 2\nv: 1\n", "w: 1\n", None),
    ("scalar removed on both sides", "w: 1\nv: 1\n", "w: 1\n", "w: 1\n", None),
    ("scalar only here", "w: 1\n", "w: 2\n", "w: 1\nv: 1\n", None),
    ("number becomes text", "v: 1\n", "v: \"1\"\n", "v: 1\n", Some("number that becomes a text upstream")),
    ("text becomes quoted", "v: a\n", "v: \"a\"\n", "v: a\n", None),
    ("multi-line text", "v: |\n  a\n  b\n", "v: |\n  a\n  c\n", "v: |\n  a\n  b\n", None),
    ("atomic list changed upstream", "v: [a]\n", "v: [a, b]\n", "v: [a]\n", None),
    ("atomic list changed on both sides", "v: [a]\n", "v: [a, b]\n", "v: [c]\n", None),
    ("atomic list removed upstream", "w: 1\nv: [a]\n", "w: 1\n", "w: 1\nv: [a]\n", None),
    ("atomic list removed upstream and changed here", "w: 1\nv: [a]\n", "w: 1\n", "w: 1\nv: [c]\n", None),
    ("atomic list removed here", "w: 1\nv: [a]\n", "w: 2\nv: [a]\n", "w: 1\n", None),
    (
        "atomic list of mappings",
        "v:\n- name: x\n  n: 1\n",
        "v:\n- name: x\n  n: 2\n",
        "v:\n- name: x\n  n: 1\n- name: y\n",
        None,
    ),
    ("atomic list with a null", "v: [a]\n", "v: [a, null]\n", "v: [a]\n", None),
    ("null everywhere", "w: 1\nv: null\n", "w: 2\nv: null\n", "w: 1\nv: null\n", NULL),
    ("null only here", "w: 1\n", "w: 2\n", "w: 1\nv: null\n", NULL),
    ("null added upstream", "w: 1\n", "w: 1\nv: null\n", "w: 1\n", NULL),
    ("null set here", "w: 1\nv: 1\n", "w: 2\nv: 1\n", "w: 1\nv: null\n", NULL),
    ("null set upstream", "w: 1\nv: 1\n", "w: 1\nv: null\n", "w: 1\nv: 1\n", NULL),
    ("null set upstream and changed here", "w: 1\nv: 1\n", "w: 1\nv: null\n", "w: 1\nv: 5\n", NULL),
    ("null replaced upstream", "w: 1\nv: null\n", "w: 1\nv: 3\n", "w: 1\nv: null\n", NULL),
    ("null replaced here", "w: 1\nv: null\n", "w: 2\nv: null\n", "w: 1\nv: 7\n", NULL),
    ("mapping and null", "w: 1\nv: {a: 1}\n", "w: 1\nv: {a: 2}\n", "w: 1\nv: null\n", NULL),
    ("mapping removed upstream", "w: 1\nv: {a: 1}\n", "w: 1\n", "w: 1\nv: {a: 1}\n", REMOVED_UPSTREAM),
    (
        "mapping removed upstream with more here",
        "w: 1\nv: {a: 1}\n",
        "w: 1\n",
        "w: 1\nv: {a: 2, c: 3}\n",
        None,
    ),
    ("mapping emptied upstream", "w: 1\nv: {a: 1}\n", "w: 1\nv: {}\n", "w: 1\nv: {a: 1}\n", None),
    ("mapping removed here", "w: 1\nv: {a: 1}\n", "w: 2\nv: {a: 1}\n", "w: 1\n", REMOVED_HERE),
    (
        "mapping removed here and changed upstream",
        "w: 1\nv: {a: 1, b: 1}\n",
        "w: 1\nv: {a: 2, b: 1}\n",
        "w: 1\n",
        BACK,
    ),
    ("mapping added on both sides", "w: 1\n", "w: 1\nv: {z: 1, a: 2}\n", "w: 1\nv: {a: 3, l: 4}\n", None),
    ("mapping added upstream", "w: 1\n", "w: 1\nv: {z: 1, a: {y: 1, b: 2}}\n", "w: 1\n", None),
    ("empty mapping everywhere", "w: 1\nv: {}\n", "w: 2\nv: {}\n", "w: 1\nv: {}\n", None),
    ("nested mappings", "v: {a: {b: 1, c: 1}}\n", "v: {a: {b: 2, c: 1}}\n", "v: {a: {b: 1, c: 3}}\n", None),
    ("key added upstream between others", "a: 1\nc: 1\n", "a: 1\nb: 1\nc: 1\n", "a: 1\nc: 1\n", None),
    ("comment here, value changed upstream", "v: 1\n", "v: 2\n", "v: 1 # mine\n", None),
    ("comment changed on both sides", "v: 1 # old\n", "v: 1 # theirs\n", "v: 1 # ours\n", None),
    ("comment changed upstream", "v: 1 # old\n", "v: 1 # theirs\n", "v: 1 # old\n", None),
    ("comment changed upstream, field removed here", "w: 1\nv: 1\n", "w: 1\nv: 1 # theirs\n", "w: 1\n", None),
    ("comment changed here, field removed upstream", "w: 1\nv: 1\n", "w: 1\n", "w: 1\nv: 1 # ours\n", None),
    ("document of comments only", "v: 1\n", "v: 1\n---\n# theirs\n", "v: 2\n", None),
    ("scalar, mapping and list", "v: 1\n", "v: {a: 1}\n", "v: [1]\n", KINDS),
    ("scalar becomes a mapping upstream", "v: 1\n", "v: {a: 1}\n", "v: 1\n", KINDS),
];

const PORTS: &[Row] = &[
    (
        "item changed on both sides",
        "  ports:\n  - port: 80\n    targetPort: 1\n",
        "  ports:\n  - port: 80\n    targetPort: 2\n",
        "  ports:\n  - port: 80\n    targetPort: 1\n    name: h\n",
        None,
    ),
    (
        "item added on both sides",
        "  ports:\n  - port: 80\n",
        "  ports:\n  - port: 80\n  - port: 81\n",
        "  ports:\n  - port: 79\n  - port: 80\n",
        None,
    ),
    (
        "item removed upstream",
        "  ports:\n  - port: 80\n  - port: 81\n",
        "  ports:\n  - port: 81\n",
        "  ports:\n  - port: 80\n  - port: 81\n",
        None,
    ),
    (
        "item removed upstream and changed here",
        "  ports:\n  - port: 80\n  - port: 81\n",
        "  ports:\n  - port: 81\n",
        "  ports:\n  - port: 80\n    name: x\n  - port: 81\n",
        STUB,
    ),
    (
        "item removed here",
        "  ports:\n  - port: 80\n  - port: 81\n",
        "  ports:\n  - port: 80\n  - port: 81\n  - port: 82\n",
        "  ports:\n  - port: 81\n",
        None,
    ),
    (
        "item removed here and changed upstream",
        "  ports:\n  - port: 80\n    targetPort: 1\n    name: a\n  - port: 81\n",
        "  ports:\n  - port: 80\n    targetPort: 2\n    name: a\n  - port: 81\n",
        "  ports:\n  - port: 81\n",
        BACK,
    ),
    (
        "key of an item changed upstream",
        "  ports:\n  - port: 80\n",
        "  ports:\n  - port: 8080\n",
        "  ports:\n  - port: 80\n",
        None,
    ),
    ("keyed list removed upstream", "  ports:\n  - port: 80\n", "", "  ports:\n  - port: 80\n", None),
    (
        "keyed list removed upstream and changed here",
        "  ports:\n  - port: 80\n",
        "",
        "  ports:\n  - port: 80\n    name: x\n",
        None,
    ),
    (
        "keyed list removed here",
        "  ports:\n  - port: 80\n",
        "  clusterIP: n\n  ports:\n  - port: 80\n",
        "",
        REMOVED_HERE,
    ),
    ("keyed list added on both sides", "", "  ports:\n  - port: 80\n", "  ports:\n  - port: 81\n", None),
    (
        "protocol on one side",
        "  ports:\n  - port: 80\n    targetPort: 1\n",
        "  ports:\n  - port: 80\n    targetPort: 2\n",
        "  ports:\n  - port: 80\n    protocol: TCP\n    targetPort: 1\n",
        Some("`protocol` on one side only"),
    ),
    (
        "items without their key",
        "  ports:\n  - targetPort: 1\n",
        "  ports:\n  - targetPort: 2\n",
        "  ports:\n  - targetPort: 1\n",
        Some("items without their key"),
    ),
    (
        "order of items changed upstream",
        "  ports:\n  - port: 1\n  - port: 2\n",
        "  ports:\n  - port: 2\n  - port: 1\n",
        "  ports:\n  - port: 1\n  - port: 2\n",
        Some("order of a keyed list"),
    ),
];

const PODS: &[Row] = &[
    (
        "environment of a container",
        "  containers:\n  - name: c\n    env:\n    - {name: A, value: a}\n",
        "  containers:\n  - name: c\n    env:\n    - {name: A, value: b}\n    - {name: B, value: b}\n",
        "  containers:\n  - name: c\n    env:\n    - {name: C, value: c}\n    - {name: A, value: a}\n",
        None,
    ),
    (
        "arguments of a container",
        "  containers:\n  - name: c\n    args: [a]\n",
        "  containers:\n  - name: c\n    args: [a, b]\n",
        "  containers:\n  - name: c\n    args: [a]\n    image: i\n",
        None,
    ),
    (
        "tolerations",
        "  tolerations:\n  - key: a\n",
        "  tolerations:\n  - key: a\n  - key: b\n",
        "  tolerations:\n  - key: a\n",
        None,
    ),
    (
        "volumes",
        "  volumes:\n  - name: v\n    emptyDir: {}\n",
        "  volumes:\n  - name: v\n    emptyDir: {}\n  - name: w\n    configMap: {name: m}\n",
        "  volumes:\n  - name: u\n    emptyDir: {}\n  - name: v\n    emptyDir: {}\n",
        None,
    ),
    (
        "another source of a volume upstream",
        "  volumes:\n  - name: v\n    emptyDir: {}\n",
        "  volumes:\n  - name: v\n    configMap: {name: m}\n",
        "  volumes:\n  - name: v\n    emptyDir: {}\n",
        Some("volume, strategy or profile of which the sides have different variants"),
    ),
    (
        "another source of a volume on both sides",
        "  volumes:\n  - name: v\n    emptyDir: {}\n",
        "  volumes:\n  - name: v\n    configMap: {name: m}\n",
        "  volumes:\n  - name: v\n    secret: {secretName: s}\n",
        Some("volume, strategy or profile of which the sides have different variants"),
    ),
    (
        "container renamed here",
        "  containers:\n  - name: c\n    image: i\n",
        "  containers:\n  - name: c\n    image: i\n  restartPolicy: Never\n",
        "  containers:\n  - name: d\n    image: i\n",
        None,
    ),
];

const PIPELINES: &[Row] = &[
    (
        "functions by name",
        "pipeline:\n  mutators:\n  - {name: a, image: \"x:v1\"}\n",
        "pipeline:\n  mutators:\n  - {name: a, image: \"x:v2\"}\n  - {name: b, image: \"x:v1\"}\n",
        "pipeline:\n  mutators:\n  - {name: m, image: y}\n  - {name: a, image: \"x:v1\", configPath: c.yaml}\n",
        None,
    ),
    (
        "functions by image",
        "pipeline:\n  mutators:\n  - image: x:v1\n",
        "pipeline:\n  mutators:\n  - image: x:v2\n",
        "pipeline:\n  mutators:\n  - image: mine:v1\n  - image: x:v1\n",
        None,
    ),
    (
        "function removed upstream",
        "pipeline:\n  mutators:\n  - image: x:v1\n  - image: y:v1\n",
        "pipeline:\n  mutators:\n  - image: y:v1\n",
        "pipeline:\n  mutators:\n  - image: x:v1\n  - image: y:v1\n",
        None,
    ),
    (
        "function removed upstream and edited here",
        "pipeline:\n  mutators:\n  - image: x:v1\n  - image: y:v1\n",
        "pipeline:\n  mutators:\n  - image: y:v1\n",
        "pipeline:\n  mutators:\n  - image: x:v1\n    configPath: c.yaml\n  - image: y:v1\n",
        STUB,
    ),
    (
        "some functions without names",
        "pipeline:\n  mutators:\n  - {name: a, image: \"x:v1\"}\n  - image: y:v1\n",
        "pipeline:\n  mutators:\n  - {name: a, image: \"x:v2\"}\n  - image: y:v2\n",
        "pipeline:\n  mutators:\n  - {name: a, image: \"x:v1\"}\n  - image: y:v1\n    configPath: c.yaml\n",
        Some("pipeline with some names missing"),
    ),
    (
        "function named here",
        "pipeline:\n  mutators:\n  - image: x:v1\n",
        "pipeline:\n  mutators:\n  - image: x:v2\n",
        "pipeline:\n  mutators:\n  - image: x:v1\n    name: foo\n",
        Some("pipeline with some names missing"),
    ),
    (
        "description of the package",
        "info:\n  description: a\n",
        "info:\n  description: b\n  site: s\n",
        "info:\n  description: a\n  keywords: [k]\n",
        None,
    ),
    (
        "labels of the package",
        "info:\n  description: a\n",
        "info:\n  description: a\ninventory:\n  name: n\n",
        "info:\n  description: c\n",
        None,
    ),
    (
        "readiness gates",
        "info:\n  readinessGates:\n  - conditionType: a\n",
        "info:\n  readinessGates:\n  - conditionType: a\n  - conditionType: b\n",
        "info:\n  readinessGates:\n  - conditionType: a\n  - conditionType: mine\n",
        Some("conditions and readiness gates of the Kptfile"),
    ),
];

pub fn table(rows: &[Row], path: &str, head: fn(&str) -> String, cases: &mut Vec<Case>) {
    for (name, original, upstream, local, row) in rows {
        cases.push(case(name, one(path, [head(original), head(upstream), head(local)]), *row));
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    table(FIELDS, "a.yaml", Heads::thing, &mut cases);
    table(PORTS, "a.yaml", Heads::service, &mut cases);
    table(PODS, "a.yaml", Heads::pod, &mut cases);
    table(PIPELINES, "Kptfile", Heads::kptfile, &mut cases);
    variants::add(&mut cases);
    packages(&mut cases);
    cases
}

#[allow(clippy::too_many_lines, reason = "it is a table")]
fn packages(cases: &mut Vec<Case>) {
    let (one, two, own) = (&Heads::map("a", "1"), &Heads::map("a", "2"), &Heads::map("own", "1"));
    let files = |list: &[(&str, &str)]| {
        list.iter().fold(Files::default(), |files, (path, text)| files.with(path, text))
    };
    let both = format!("{one}---\n{}", Heads::map("b", "1"));
    let renamed = one.replace("metadata:\n  name: a\n", "metadata: # kpt-merge: /a\n  name: mine\n");
    let kptfile = &Heads::kptfile("");
    let mut add = |name, sides: [&[(&str, &str)]; 3], row| cases.push(case(name, sides.map(files), row));
    let taken = renamed.replace("name: mine", "name: b");
    add(
        "resource added upstream with a name that another one was given here",
        [&[("a.yaml", one)], &[("a.yaml", one), ("b.yaml", &Heads::map("b", "1"))], &[("a.yaml", &taken)]],
        Some("new resource with a name that another one was given here"),
    );
    add("resource added upstream", [&[("a.yaml", one)], &[("a.yaml", &both)], &[("a.yaml", one)]], None);
    add("resource removed upstream", [&[("a.yaml", &both)], &[("a.yaml", one)], &[("a.yaml", &both)]], None);
    add(
        "resource removed upstream and changed here",
        [&[("a.yaml", one), ("b.yaml", own)], &[("b.yaml", own)], &[("a.yaml", two), ("b.yaml", own)]],
        None,
    );
    add(
        "resource removed here and changed upstream",
        [&[("a.yaml", one), ("b.yaml", own)], &[("a.yaml", two), ("b.yaml", own)], &[("b.yaml", own)]],
        None,
    );
    add("resource renamed here", [&[("a.yaml", one)], &[("a.yaml", two)], &[("a.yaml", &renamed)]], None);
    let unmarked = renamed.replace(
        "metadata: # kpt-merge: /a\n",
        "metadata:\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|a'\n",
    );
    add(
        "resource renamed here without the comment",
        [&[("a.yaml", one)], &[("a.yaml", two)], &[("a.yaml", &unmarked)]],
        Some("resource renamed here whose comment is gone, and the annotation is not"),
    );
    add(
        "resource renamed upstream",
        [&[("a.yaml", one)], &[("a.yaml", &one.replace("name: a", "name: z"))], &[("a.yaml", one)]],
        None,
    );
    add(
        "resource moved here",
        [&[("a.yaml", one)], &[("a.yaml", two)], &[("b.yaml", one)]],
        Some("resource moved to another file, here or upstream"),
    );
    add(
        "resource moved upstream and changed here",
        [&[("a.yaml", one)], &[("b.yaml", one)], &[("a.yaml", two)]],
        Some("resource moved to another file, here or upstream"),
    );
    add(
        "resource moved here and removed upstream",
        [&[("a.yaml", one), ("c.yaml", own)], &[("c.yaml", own)], &[("b.yaml", one), ("c.yaml", own)]],
        None,
    );
    add(
        "another version",
        [
            &[("a.yaml", "apiVersion: g/v1\nkind: K\nmetadata:\n  name: a\nv: 1\n")],
            &[("a.yaml", "apiVersion: g/v2\nkind: K\nmetadata:\n  name: a\nv: 1\n")],
            &[("a.yaml", "apiVersion: g/v1\nkind: K\nmetadata:\n  name: a\nv: 2\n")],
        ],
        None,
    );
    add(
        "text changed upstream",
        [&[("README.md", "a\n")], &[("README.md", "b\n")], &[("README.md", "a\n")]],
        None,
    );
    add(
        "text changed here",
        [&[("README.md", "a\n")], &[("README.md", "a\n")], &[("README.md", "b\n")]],
        None,
    );
    add(
        "text changed on both sides",
        [&[("README.md", "a\nb\nc\n")], &[("README.md", "A\nb\nc\n")], &[("README.md", "a\nb\nC\n")]],
        Some("text changed on both sides"),
    );
    add(
        "text removed upstream",
        [
            &[("README.md", "a\n"), ("a.yaml", one)],
            &[("a.yaml", one)],
            &[("README.md", "a\n"), ("a.yaml", one)],
        ],
        None,
    );
    add(
        "text removed upstream and changed here",
        [
            &[("README.md", "a\n"), ("a.yaml", one)],
            &[("a.yaml", one)],
            &[("README.md", "b\n"), ("a.yaml", one)],
        ],
        None,
    );
    add(
        "values merge by fields",
        [
            &[("values.yaml", "a: 1\nb: 1\n")],
            &[("values.yaml", "a: 2\nb: 1\n")],
            &[("values.yaml", "a: 1\nb: 3\n")],
        ],
        None,
    );
    add(
        "json changed on both sides",
        [
            &[("a.json", "{\"a\": 1, \"b\": 1}\n")],
            &[("a.json", "{\"a\": 2, \"b\": 1}\n")],
            &[("a.json", "{\"a\": 1, \"b\": 3}\n")],
        ],
        Some("JSON files"),
    );
    add(
        "kustomization",
        [
            &[(
                "kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a\n",
            )],
            &[(
                "kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a\n- b\n",
            )],
            &[(
                "kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a\n- c\n",
            )],
        ],
        Some("lists of a kustomization"),
    );
    add(
        "package added upstream",
        [
            &[("a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("a.yaml", one)],
        ],
        None,
    );
    add(
        "package only here",
        [
            &[("a.yaml", one)],
            &[("a.yaml", two)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
        ],
        None,
    );
    add(
        "package on both sides",
        [
            &[("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("s/Kptfile", kptfile), ("s/a.yaml", two)],
            &[("s/Kptfile", kptfile), ("s/a.yaml", one), ("s/b.yaml", own)],
        ],
        None,
    );
    add(
        "package removed upstream",
        [
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
        ],
        None,
    );
    add(
        "package removed upstream and changed here",
        [
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", two)],
        ],
        None,
    );
    add(
        "package removed here and changed upstream",
        [
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", two)],
            &[("a.yaml", one)],
        ],
        None,
    );
    add(
        "package added on both sides",
        [
            &[("a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", one)],
            &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/a.yaml", two)],
        ],
        Some("a package inside the package added on both sides"),
    );
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\nspec:\n  group: example.com\n  names: {kind: Thing, plural: things}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          parts:\n            type: array\n            x-kubernetes-list-type: map\n            x-kubernetes-list-map-keys: [id]\n            items: {type: object, properties: {id: {type: string}, n: {type: integer}}}\n";
    let [before, theirs, ours] = [
        "parts:\n- {id: a, n: 1}\n",
        "parts:\n- {id: a, n: 2}\n",
        "parts:\n- {id: a, n: 1}\n- {id: own, n: 1}\n",
    ]
    .map(Heads::thing);
    add(
        "list of a custom resource",
        [
            &[("a.yaml", &before), ("crd.yaml", crd)],
            &[("a.yaml", &theirs), ("crd.yaml", crd)],
            &[("a.yaml", &ours), ("crd.yaml", crd)],
        ],
        Some("lists of custom resources"),
    );
    add(
        "template that is no YAML",
        [
            &[("a.yaml", one), ("t.yaml", "{{ if .x }}\na: 1\n{{ end }}\n")],
            &[("a.yaml", two), ("t.yaml", "{{ if .x }}\na: 1\n{{ end }}\n")],
            &[("a.yaml", one), ("t.yaml", "{{ if .x }}\na: 1\n{{ end }}\n")],
        ],
        Some("YAML that cannot be read"),
    );
    add(
        "resource added on both sides in different files",
        [&[("c.yaml", own)], &[("c.yaml", own), ("a.yaml", one)], &[("c.yaml", own), ("b.yaml", two)]],
        Some("resource added on both sides, in different files"),
    );
    add(
        "file here where upstream has a folder",
        [&[("c.yaml", own)], &[("c.yaml", own), ("d/x", "u\n")], &[("c.yaml", own), ("d", "l\n")]],
        Some("file where the other side has a folder"),
    );
    let marked = one.replace("metadata:\n", "metadata: # kpt-merge: /a\n");
    let sides: [&[(&str, &str)]; 3] = [&[("a.yaml", one)], &[("a.yaml", two)], &[("a.yaml", &marked)]];
    cases.push(Case { strategy: "fast-forward", ..case("fast-forward over a mark", sides.map(files), None) });
    let named = kptfile.replace("name: pkg", "name: mine");
    let sides: [&[(&str, &str)]; 3] = [
        &[("Kptfile", kptfile), ("a.yaml", one)],
        &[("Kptfile", kptfile), ("a.yaml", two)],
        &[("Kptfile", &named), ("a.yaml", one)],
    ];
    cases.push(Case {
        strategy: "fast-forward",
        ..case("fast-forward over another name", sides.map(files), None)
    });
    let sides: [&[(&str, &str)]; 3] = [
        &[("a.yaml", one), ("gone", "g\n")],
        &[("a.yaml", two)],
        &[("a.yaml", one), ("gone", "g\n"), ("own", "o\n")],
    ];
    cases.push(Case { strategy: "force-delete-replace", ..case("replaced", sides.map(files), None) });
    let sides: [&[(&str, &str)]; 3] = [&[("a.yaml", one)], &[("a.yaml", two)], &[("a.yaml", one)]];
    cases.push(Case { strategy: "fast-forward", ..case("fast-forward", sides.map(files), None) });
    let sides: [&[(&str, &str)]; 3] = [
        &[("a.yaml", one)],
        &[("a.yaml", two)],
        &[("a.yaml", one), ("s/Kptfile", kptfile), ("s/b.yaml", own)],
    ];
    cases.push(Case {
        strategy: "force-delete-replace",
        ..case("package here only, replaced", sides.map(files), None)
    });
}
