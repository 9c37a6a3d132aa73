//! Which fields a Kptfile may have, and what each must be.
//!
//! The names of the types are those that kpt's messages use. The order of fields is the order in which new ones are added.

/// What a node must be.
#[derive(Debug)]
pub enum Shape {
    /// A scalar of any type, taken as text; with the name of the type.
    Text(&'static str),
    /// An integer.
    Int,
    /// A boolean.
    Bool,
    /// Anything.
    Any,
    /// A mapping from text to text.
    Texts,
    /// A list; with the name of the item's type.
    List(&'static str, &'static Shape),
    /// A mapping with these fields and no others; with the name of the type.
    Struct(&'static str, &'static [(&'static str, Shape)]),
}

impl Shape {
    /// What the type is called.
    pub fn name(&self) -> String {
        match self {
            Shape::Text(name) | Shape::Struct(name, _) => (*name).into(),
            Shape::Int => "int".into(),
            Shape::Bool => "bool".into(),
            Shape::Any => "interface {}".into(),
            Shape::Texts => "map[string]string".into(),
            Shape::List(item, _) => format!("[]{item}"),
        }
    }

    /// The shape of a field.
    pub fn field(&self, key: &str) -> Option<&'static Shape> {
        match self {
            Shape::Struct(_, fields) => fields.iter().find(|(name, _)| *name == key).map(|(_, shape)| shape),
            Shape::Text(_) | Shape::Int | Shape::Bool | Shape::Any | Shape::Texts | Shape::List(..) => None,
        }
    }

    /// The names of the fields, in order.
    pub fn order(&self) -> impl Iterator<Item = &'static str> {
        let fields = match self {
            Shape::Struct(_, fields) => *fields,
            Shape::Text(_) | Shape::Int | Shape::Bool | Shape::Any | Shape::Texts | Shape::List(..) => &[],
        };
        fields.iter().map(|(name, _)| *name)
    }
}

const STRING: Shape = Shape::Text("string");
const STRINGS: Shape = Shape::List("string", &STRING);
const ORIGIN: Shape = Shape::Text("v1.OriginType");

/// The whole file.
pub const KPTFILE: Shape = Shape::Struct(
    "v1.KptFile",
    &[
        ("apiVersion", STRING),
        ("kind", STRING),
        ("metadata", METADATA),
        ("upstream", UPSTREAM),
        ("upstreamLock", UPSTREAM_LOCK),
        ("info", INFO),
        ("pipeline", PIPELINE),
        ("inventory", INVENTORY),
        ("status", STATUS),
    ],
);

const METADATA: Shape = Shape::Struct(
    "yaml.ObjectMeta",
    &[("name", STRING), ("namespace", STRING), ("labels", Shape::Texts), ("annotations", Shape::Texts)],
);

const UPSTREAM: Shape = Shape::Struct(
    "v1.Upstream",
    &[
        ("type", ORIGIN),
        ("git", Shape::Struct("v1.Git", &[("repo", STRING), ("directory", STRING), ("ref", STRING)])),
        ("updateStrategy", Shape::Text("v1.UpdateStrategyType")),
    ],
);

const UPSTREAM_LOCK: Shape = Shape::Struct(
    "v1.Locator",
    &[
        ("type", ORIGIN),
        (
            "git",
            Shape::Struct(
                "v1.GitLock",
                &[("repo", STRING), ("directory", STRING), ("ref", STRING), ("commit", STRING)],
            ),
        ),
        (
            "generic",
            Shape::Struct(
                "v1.GenericLock",
                &[("storeID", STRING), ("resourceID", STRING), ("resourceVersion", STRING)],
            ),
        ),
    ],
);

const GATE: Shape = Shape::Struct("v1.ReadinessGate", &[("conditionType", STRING)]);

const INFO: Shape = Shape::Struct(
    "v1.PackageInfo",
    &[
        ("site", STRING),
        ("emails", STRINGS),
        ("license", STRING),
        ("licenseFile", STRING),
        ("description", STRING),
        ("keywords", STRINGS),
        ("man", STRING),
        ("readinessGates", Shape::List("v1.ReadinessGate", &GATE)),
    ],
);

const SELECTOR: Shape = Shape::Struct(
    "v1.Selector",
    &[
        ("apiVersion", STRING),
        ("kind", STRING),
        ("name", STRING),
        ("namespace", STRING),
        ("labels", Shape::Texts),
        ("annotations", Shape::Texts),
    ],
);

const FUNCTION: Shape = Shape::Struct(
    "v1.Function",
    &[
        ("image", STRING),
        ("exec", STRING),
        ("configPath", STRING),
        ("configMap", Shape::Texts),
        ("name", STRING),
        ("tag", STRING),
        ("selectors", Shape::List("v1.Selector", &SELECTOR)),
        ("exclude", Shape::List("v1.Selector", &SELECTOR)),
        ("when", STRING),
    ],
);

const PIPELINE: Shape = Shape::Struct(
    "v1.Pipeline",
    &[
        ("mutators", Shape::List("v1.Function", &FUNCTION)),
        ("validators", Shape::List("v1.Function", &FUNCTION)),
    ],
);

const INVENTORY: Shape = Shape::Struct(
    "v1.Inventory",
    &[
        ("namespace", STRING),
        ("name", STRING),
        ("inventoryID", STRING),
        ("labels", Shape::Texts),
        ("annotations", Shape::Texts),
    ],
);

const CONDITION: Shape = Shape::Struct(
    "v1.Condition",
    &[
        ("type", STRING),
        ("status", Shape::Text("v1.ConditionStatus")),
        ("reason", STRING),
        ("message", STRING),
    ],
);

const RESULT: Shape = Shape::Struct(
    "v1.ResultItem",
    &[
        ("message", STRING),
        ("severity", Shape::Text("framework.Severity")),
        (
            "resourceRef",
            Shape::Struct(
                "yaml.ResourceIdentifier",
                &[("apiVersion", STRING), ("kind", STRING), ("name", STRING), ("namespace", STRING)],
            ),
        ),
        (
            "field",
            Shape::Struct(
                "v1.Field",
                &[("path", STRING), ("currentValue", Shape::Any), ("proposedValue", Shape::Any)],
            ),
        ),
        ("file", Shape::Struct("framework.File", &[("path", STRING), ("index", Shape::Int)])),
        ("tags", Shape::Texts),
    ],
);

const STEP: Shape = Shape::Struct(
    "v1.PipelineStepResult",
    &[
        ("name", STRING),
        ("image", STRING),
        ("exec", STRING),
        ("executionError", STRING),
        ("stderr", STRING),
        ("exitCode", Shape::Int),
        ("results", Shape::List("v1.ResultItem", &RESULT)),
        ("errorResults", Shape::List("v1.ResultItem", &RESULT)),
        ("when", STRING),
        ("skipped", Shape::Bool),
    ],
);

const RENDER_STATUS: Shape = Shape::Struct(
    "v1.RenderStatus",
    &[
        ("mutationSteps", Shape::List("v1.PipelineStepResult", &STEP)),
        ("validationSteps", Shape::List("v1.PipelineStepResult", &STEP)),
        ("errorSummary", STRING),
    ],
);

const STATUS: Shape = Shape::Struct(
    "v1.Status",
    &[("conditions", Shape::List("v1.Condition", &CONDITION)), ("renderStatus", RENDER_STATUS)],
);
