//! `starlark`.

use std::collections::BTreeMap;

use lanai_functions::function::{Code, Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
use lanai_functions::{config, report};
use lanai_krm::{Resource, ResourceList};
use serde_json::Value as Json;

use crate::Limits;
use crate::engine::{self, Script};
use crate::failure;
use crate::items::put_back;
use crate::value::of_node;

/// The name that messages give a script whose configuration has none.
const UNNAMED: &str = "starlark-function-run";

/// Runs a script on the list.
#[derive(Clone, Debug, Default)]
pub struct Starlark {
    /// How much the script may use.
    pub limits: Limits,
    /// What `ctx.environment` has. Empty unless somebody grants something.
    pub environment: BTreeMap<String, String>,
}

/// The function, with its default limits and an empty environment.
pub fn function() -> &'static dyn Function {
    static FUNCTION: Starlark = Starlark { limits: Limits::DEFAULT, environment: BTreeMap::new() };
    &FUNCTION
}

impl Function for Starlark {
    fn name(&self) -> &'static str {
        "starlark"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.5", "v0.5.0", "v0.5.1", "v0.5.2", "v0.5.3", "v0.5.4", "v0.5.5"]
    }

    fn code(&self) -> Code {
        Code::Users
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "kptdev/krm-functions-catalog, release v0.5.5",
            resources: Compared::Values,
        }
    }

    fn doc(&self) -> Doc {
        DOC
    }

    fn with_environment(&self, environment: BTreeMap<String, String>) -> Option<Box<dyn Function + Send>> {
        Some(Box::new(Self { limits: self.limits, environment }))
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        self.run_aloud(list, &mut String::new())
    }

    fn run_aloud(&self, list: &mut ResourceList, stderr: &mut String) -> Result<(), Failure> {
        match self.items(list, stderr) {
            Ok(items) => {
                list.items = items;
                Ok(())
            }
            Err(failure) => Err(Failure::report(list, report::error(failure.message))),
        }
    }
}

impl Starlark {
    /// The resources after the script.
    fn items(&self, list: &ResourceList, stderr: &mut String) -> Result<Vec<Resource>, failure::Failure> {
        let config = config::given(list).ok_or_else(|| {
            failure::Failure::new("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`")
        })?;
        let source = source(&config)?;
        let name = config.name().filter(|name| !name.is_empty());
        let values = list.items.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let script = Script {
            name: name.as_deref().unwrap_or(UNNAMED),
            source: &source,
            items: &values,
            config: &read(&config)?,
            environment: &self.environment,
        };
        let made = engine::run(&script, &self.limits, stderr)?;
        put_back(&list.items, &values, made)
    }
}

fn read(resource: &Resource) -> Result<Json, failure::Failure> {
    of_node(resource.root()).map_err(|error| {
        let id = report::resource_text(resource);
        failure::Failure::new(format!("{id} cannot be given to the script: {error}"))
    })
}

/// The script.
fn source(config: &Resource) -> Result<String, failure::Failure> {
    let wrong = |wrong: config::Wrong| failure::Failure::new(wrong.to_string());
    let source = if config::is(config, "v1", "ConfigMap") {
        let data = config::mapping(config.root(), "data").map_err(wrong)?;
        data.map(|data| config::scalar(data, "source")).transpose().map_err(wrong)?.flatten()
    } else if config::is(config, config::TYPED, "StarlarkRun") {
        config::scalar(config.root(), "source").map_err(wrong)?
    } else {
        let found = config::type_of(config);
        return Err(failure::Failure::new(format!(
            "`functionConfig` must be either /v1, Kind=ConfigMap or {}, Kind=StarlarkRun, but we got: {}, Kind={}",
            config::TYPED,
            found.api_version,
            found.kind
        )));
    };
    source
        .filter(|source| !source.is_empty())
        .ok_or_else(|| failure::Failure::new("`source` must not be empty"))
}

const DOC: Doc = Doc {
    purpose: "Runs a script in Starlark, a small language like Python, that changes the resources or looks at them. \
              `ctx.resource_list` is the list: `items` are the resources, `functionConfig` is the configuration; \
              `ctx.environment` has the variables that were granted (`--env`), which are none by themselves. What stands in `items` when the script ends is the \
              new list: what the script did not change stays byte for byte, and in what it changed only the fields that differ are \
              edited. `print` writes to stderr, `fail` ends with an error.\n\nA script can load `encoding/base64.star`, \
              `encoding/json.star`, `encoding/yaml.star`, `hash.star`, `krmfn.star`, `math.star`, `re.star`, `struct.star` and \
              `time.star`, each of which has the name of the last part. Recursion, `set()`, statements at the top level and new \
              values for global names are allowed.\n\nScripts run in a process of their own, and within limits: 1 MiB of script \
              (`max_source`), 500 brackets, operators and blocks in each other (`max_nesting`), 20 million calls and turns of loops \
              (`max_steps`), 200 calls in each other (`max_calls`), 512 MiB of values, garbage included (`max_heap`), 16 Mi bytes or \
              numbers by one `*` or `range` (`max_repeat`), 10,000 digits of a number by `*` (`max_digits`), 500 lists and dicts in each other (`max_depth`), 1 MiB of print \
              (`max_print`), 256 MiB of values in `items` at the end, or in what is encoded (`max_output`), patterns of 1 MiB (`max_pattern`) \
              that are looked for in 1 MiB of text (`max_match`). A second run may change something again: that is up to the script.",
    config: &[
        Field { path: "source", meaning: "the script, in a `StarlarkRun` of `fn.kpt.dev/v1alpha1`" },
        Field {
            path: "params",
            meaning: "whatever the script wants, found in `ctx.resource_list[\"functionConfig\"][\"params\"]`",
        },
        Field {
            path: "data.source",
            meaning: "the script, in a `ConfigMap`; the other entries of `data` are its parameters",
        },
    ],
    example: "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: set-team\nparams:\n  team: blue\nsource: |\n  team = \
              ctx.resource_list[\"functionConfig\"][\"params\"][\"team\"]\n  for item in ctx.resource_list[\"items\"]:\n      \
              item[\"metadata\"].setdefault(\"annotations\", {})[\"team\"] = team\n",
    deviations: &[
        Deviation {
            there: "messages about what went wrong while the script ran have no place",
            here: "they begin with the name of the script, line and column, as those about its syntax do; what `fail` says has none",
            fixtures: &["division", "runtime-error"],
        },
        Deviation {
            there: "the texts of errors are those of the engine in Go",
            here: "they are those of another engine; names and values are in them as well",
            fixtures: &["syntax-error", "unknown-member", "unnamed", "wrong-types"],
        },
        Deviation {
            there: "an unknown module looks empty",
            here: "an error says that there is no such module, and which there are",
            fixtures: &["unknown-module"],
        },
        Deviation {
            there: "`bsoup`, `encoding/csv`, `geo`, `html`, `http`, `xlsx` and `zipfile` can be loaded",
            here: "they are refused by name: functions have no network, and packages have other formats",
            fixtures: &["refused-module"],
        },
        Deviation {
            there: "`time.now()` is the time",
            here: "it is refused, so that equal lists give equal answers",
            fixtures: &["time-now"],
        },
        Deviation {
            there: "`time` knows the time zones of the machine, and its durations are values of their own",
            here: "it knows UTC, and durations are numbers of seconds",
            fixtures: &["time", "time-zone"],
        },
        Deviation { there: "`math.gamma` is there", here: "it is not", fixtures: &["math"] },
        Deviation {
            there: "`ctx.open_api` has the schema of Kubernetes",
            here: "it is refused by name",
            fixtures: &["open-api"],
        },
        Deviation {
            there: "`while` and `*=` are allowed",
            here: "they are refused with what to write instead: the engine has no `while`, and `*=` would not be bounded",
            fixtures: &["while-loop"],
        },
        Deviation {
            there: "a source that is no text is refused in words that name types of Go",
            here: "the message names the field",
            fixtures: &["source-not-text"],
        },
        Deviation {
            there: "`yaml.loads` takes `yes`, `on` and such for booleans",
            here: "they are texts, as in resources",
            fixtures: &["modules"],
        },
        Deviation {
            there: "a number such as `3.0` becomes `3`, also where the script leaves it alone",
            here: "what the script leaves alone stays as it is written",
            fixtures: &["numbers"],
        },
        Deviation {
            there: "there is no module `struct.star`",
            here: "there is, with the function `struct`",
            fixtures: &["struct"],
        },
        Deviation {
            there: "whole numbers above 9223372036854775807 end the script, also where it leaves them alone",
            here: "they are accepted up to 18446744073709551615, the largest of 64 bits",
            fixtures: &["numbers-of-64-bits"],
        },
        Deviation {
            there: "the letters of a text are its bytes",
            here: "they are its characters",
            fixtures: &["letters"],
        },
        Deviation {
            there: "what is left in `items` and is no resource is described as a node of YAML",
            here: "the message says what it is and where",
            fixtures: &["not-a-list", "not-a-resource", "not-a-value", "too-big"],
        },
    ],
};
