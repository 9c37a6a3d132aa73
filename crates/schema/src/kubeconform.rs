//! `kubeconform`.

use lanai_functions::report::{self, About};
use lanai_functions::{Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
use lanai_krm::{Resource, ResourceList, ResultItem};

use crate::limits::Limits;
use crate::schemas::{MissingSchema, Schemas};
use crate::settings::{self, Missing, Settings};
use crate::walk::Finding;

/// The function `kubeconform`.
pub fn function() -> &'static dyn Function {
    &Kubeconform
}

/// Checks resources against the schemas of their kinds.
struct Kubeconform;

impl Function for Kubeconform {
    fn name(&self) -> &'static str {
        "kubeconform"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["kubeval"]
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.2", "v0.2.0", "v0.3", "v0.3.0"]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "kptdev/krm-functions-catalog, commit 0f35140a (2026), around kubeconform v0.7.0, with schemas made from the OpenAPI document of \
                      Kubernetes 1.36",
            resources: Compared::Text,
        }
    }

    fn doc(&self) -> Doc {
        DOC
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let from = list.results.len();
        let settings = match Settings::read(list) {
            Ok(settings) => settings,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        let limits = Limits::default();
        let schemas = Schemas::of(&list.items, &limits);
        let mut results = Vec::new();
        for (at, item) in list.items.iter().enumerate().filter(|(_, item)| !settings.skips(item)) {
            let warnings = schemas.warnings().iter().filter(|warning| warning.item == at);
            results.extend(warnings.map(|warning| result(report::warning(""), &warning.finding, item)));
            let checked = schemas.check(item.root(), settings.unknown, &limits);
            results.extend(checked.findings.iter().map(|finding| result(report::error(""), finding, item)));
            match settings.missing {
                Missing::PassedOver => {}
                Missing::Reported => {
                    let findings = checked.missing.into_iter().map(no_schema);
                    results.extend(findings.map(|finding| result(report::error(""), &finding, item)));
                }
            }
        }
        list.results.append(&mut results);
        Failure::if_reported(list, from)
    }
}

/// A result about a resource.
fn result(blank: ResultItem, finding: &Finding, item: &Resource) -> ResultItem {
    let result = ResultItem { message: finding.message.clone(), ..blank }.about(item).in_file_of(item);
    if finding.path.is_empty() { result } else { result.at(&finding.path) }
}

fn no_schema(missing: MissingSchema) -> Finding {
    let MissingSchema { path, api_version, kind } = missing;
    let message = match (kind.is_empty(), api_version.is_empty()) {
        (true, _) => "could not find schema: there is no kind".into(),
        (false, true) => format!("could not find schema for {kind}: there is no apiVersion"),
        (false, false) => format!("could not find schema for {kind} of {api_version}"),
    };
    Finding { path, message }
}

const DOC: Doc = Doc {
    purpose: "Checks resources against the schemas of their kinds: those of Kubernetes 1.36, which are built in, and those of the \
              `CustomResourceDefinition`s among the resources. Every violation is an error that names the field. Resources without a \
              schema are passed over. It changes nothing.\n\nOf custom resources, the formats `date-time`, `date`, `duration`, `ipv4`, `ipv6`, `cidr`, `mac`, `uuid`, \
              `byte`, `uri`, `email` and `hostname` are checked by the rules of the server, other formats are not; in lists of the type \
              `set` or `map` no item may stand twice. Not checked are rules in CEL (`x-kubernetes-validations`), and whether items of \
              lists of built-in kinds stand twice: the program does not check them either, only the server does.",
    config: &[
        Field {
            path: settings::STRICT,
            meaning: "`true`: fields that a schema does not know, and keys that stand twice, are errors. In `data` of a `ConfigMap`, or \
                      at the top level, as all fields here",
        },
        Field {
            path: settings::SKIP_KINDS,
            meaning: "kinds that are not checked, with commas between them: `Pod`, or `apps/v1/Deployment` for one version only",
        },
        Field {
            path: settings::IGNORE_MISSING,
            meaning: "`false`: a resource without a schema is an error; otherwise it is passed over",
        },
        Field {
            path: settings::LOCATION,
            meaning: "`default`, or the file of a definition in the package; both are used in any case. Anything else is refused",
        },
        Field { path: settings::LOCATIONS, meaning: "several such places, with commas between them" },
    ],
    example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  strict: \"true\"\n  skip_kinds: MyCustom\n",
    deviations: &[
        Deviation {
            there: "custom resources cannot be checked without files of JSON schemas",
            here: "the definitions in the package say what their resources look like",
            fixtures: &[
                "crd-bad-pattern",
                "crd-beta",
                "crd-conditions",
                "crd-counts",
                "crd-embedded",
                "crd-int-or-string",
                "crd-nullable",
                "crd-numbers",
                "crd-preserve-unknown",
                "crd-strict",
                "crd-texts",
                "crd-types",
                "crd-unique",
                "crd-words",
            ],
        },
        Deviation {
            there: "schemas can be read from files and from the network",
            here: "they are refused by name: a function sees the resources of its package only",
            fixtures: &["schema-location", "additional-schema-locations"],
        },
        Deviation {
            there: "`ignore_missing_schemas: false` says nothing about resources without a schema (`kubeval` fails for all of them)",
            here: "where it is asked for in so many words, they are errors",
            fixtures: &["missing-schema-reported"],
        },
        Deviation {
            there: "a quantity, or an integer or text, of another type is `oneOf failed, none matched`",
            here: "the message names the types",
            fixtures: &["int-or-string", "quantity-type"],
        },
        Deviation {
            there: "texts that the server refuses pass as quantities, as bytes in base 64 and as integers beyond their bits",
            here: "they are errors; the bytes are not repeated in the message, for they may be secret",
            fixtures: &["quantity-text", "bytes", "integer-range"],
        },
        Deviation {
            there: "large numbers in messages are grouped or written with powers of ten; reasons of formats differ by format",
            here: "numbers are written plainly, and a format says what is expected",
            fixtures: &["integer-range", "time"],
        },
        Deviation {
            there: "a key that stands twice ends the function, in words that name types of Go",
            here: "it is an error about its resource when it is strict; otherwise the first one counts",
            fixtures: &["duplicate-key", "strict-duplicate-key"],
        },
        Deviation {
            there: "`strict` takes any other word for false, and a setting of another type counts as none",
            here: "words that are neither true nor false are errors, and so are settings of another type; `skip_kinds` may be a list",
            fixtures: &["config-wrong-boolean", "config-wrong-shape", "skip-kinds-list"],
        },
        Deviation {
            there: "the violations of one object, and the names in one, come in any order, by chance; several in one part of it are one `validation \
                    failed`",
            here: "each is a result, in the order of the text, each field before what is in it",
            fixtures: &["aliases", "labels-not-text", "merge-keys", "several", "strict-unknown-field"],
        },
        Deviation {
            there: "slashes in the keys of a path become dots; an object whose name is no text is passed over",
            here: "keys stay as they are, and the name is a violation like others",
            fixtures: &["path-with-slash"],
        },
        Deviation {
            there: "a `List` has no schema",
            here: "the resources in it are checked",
            fixtures: &["list-kind"],
        },
    ],
};
