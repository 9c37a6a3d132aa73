//! `gatekeeper`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lanai_functions::function::{CATALOG, Code, Compared, Counterpart, Deviation, Doc, Failure, Function};
use lanai_functions::report::{self, About as _};
use lanai_krm::resource::ResourceId;
use lanai_krm::result::{ResultItem, Severity};
use lanai_krm::{Resource, ResourceList};
use regorus::Value;

use crate::Limits;
use crate::constraint::{Constraint, is_constraint};
use crate::review;
use crate::scope::Namespaces;
use crate::template::{Template, is_template};

/// The stack of the thread that runs the Rego.
const STACK: usize = 64 << 20;

/// Checks the policies in the list on the list.
#[derive(Clone, Debug, Default)]
pub struct Gatekeeper {
    /// How much a policy may use.
    pub limits: Limits,
}

/// The function, with its default limits.
pub fn function() -> &'static dyn Function {
    static FUNCTION: Gatekeeper = Gatekeeper { limits: Limits::DEFAULT };
    &FUNCTION
}

impl Function for Gatekeeper {
    fn name(&self) -> &'static str {
        "gatekeeper"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1"]
    }

    fn code(&self) -> Code {
        Code::Users
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program { version: CATALOG, resources: Compared::Text }
    }

    fn doc(&self) -> Doc {
        DOC
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        self.run_aloud(list, &mut String::new())
    }

    fn run_aloud(&self, list: &mut ResourceList, stderr: &mut String) -> Result<(), Failure> {
        let from = list.results.len();
        let found = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("gatekeeper".into()).stack_size(STACK);
            let running = thread.spawn_scoped(scope, || check(&list.items, &self.limits));
            match running.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(found)) => found,
                Ok(Err(_)) => Err("the engine broke off: a policy met a defect in it".into()),
                Err(cause) => Err(format!("no thread for the policies: {cause}")),
            }
        });
        match found {
            Ok(found) => {
                for result in found.iter().filter(|result| result.severity == Some(Severity::Error)) {
                    let _ = write!(stderr, "{}", aloud(result));
                }
                list.results.extend(found);
                Failure::if_reported(list, from)
            }
            Err(message) => Err(Failure::report(list, report::error(message))),
        }
    }
}

/// An error as it is said aloud.
fn aloud(result: &ResultItem) -> String {
    let about = result.resource_ref.clone().unwrap_or_default();
    format!(
        "[error] {}/{}/{}/{} : {}\n\n",
        about.api_version, about.kind, about.namespace, about.name, result.message
    )
}

/// A resource and what it is to Rego.
struct Reviewed<'a> {
    resource: &'a Resource,
    id: ResourceId,
    object: Value,
}

/// All that is wrong with the resources, in order.
fn check(items: &[Resource], limits: &Limits) -> Result<Vec<ResultItem>, String> {
    let mut templates = BTreeMap::new();
    for resource in items.iter().filter(|item| is_template(item)) {
        let template = Template::read(resource, limits);
        let template =
            template.map_err(|why| format!("adding template \"{}\": {why}", resource.id().name))?;
        templates.insert(template.kind.clone(), template);
    }
    let constraints = items.iter().filter(|item| is_constraint(item)).map(|resource| {
        let name = resource.id().name;
        let refuse = |why: String| format!("adding constraint \"{name}\": {why}");
        let constraint = Constraint::read(resource).map_err(refuse)?;
        if let Some(template) = templates.get(&constraint.kind) {
            template.check_parameters(resource).map_err(refuse)?;
            return Ok(constraint);
        }
        let known: Vec<&str> = templates.keys().map(String::as_str).collect();
        Err(refuse(format!(
            "missing ConstraintTemplate: Constraint kind \"{}\" is not recognized, known kinds [{}]",
            constraint.kind,
            known.join(" ")
        )))
    });
    let constraints = constraints.collect::<Result<Vec<_>, String>>()?;
    if constraints.is_empty() {
        return Ok(Vec::new());
    }
    let objects = items.iter().map(|resource| {
        let object = review::object(resource);
        let object = object.map_err(|why| format!("{}: {why}", report::resource_text(resource)))?;
        Ok(Reviewed { resource, id: resource.id(), object })
    });
    let objects = objects.collect::<Result<Vec<_>, String>>()?;
    let inventory = review::inventory(objects.iter().map(|reviewed| (&reviewed.id, &reviewed.object)));
    for template in templates.values_mut() {
        template.set_inventory(&inventory)?;
    }
    let namespaces = Namespaces::of(items);
    let (mut found, mut said) = (Vec::new(), 0);
    for constraint in &constraints {
        let Some(template) = templates.get_mut(&constraint.kind) else { continue };
        for reviewed in &objects {
            if constraint.scope.applies_to(reviewed.resource, &namespaces) {
                let new = review_one(template, constraint, reviewed, limits)?;
                said += new.iter().map(|result| result.message.len()).sum::<usize>();
                if said > limits.max_output {
                    let (name, limit) = (&constraint.name, limits.max_output);
                    return Err(format!(
                        "constraint \"{name}\": the policies say more than {limit} bytes (max_output)"
                    ));
                }
                found.extend(new);
            }
        }
    }
    found.sort_by_cached_key(order);
    Ok(found)
}

fn review_one(
    template: &mut Template,
    constraint: &Constraint,
    reviewed: &Reviewed<'_>,
    limits: &Limits,
) -> Result<Vec<ResultItem>, String> {
    let input = review::input(&reviewed.id, &reviewed.object, &constraint.parameters);
    let violations = template.violations(input).map_err(|why| {
        let name = &constraint.name;
        let about = report::resource_text(reviewed.resource);
        if why.contains("time limit") {
            let limit = limits.max_time.as_millis();
            return format!("constraint \"{name}\" takes more than {limit} ms for {about} (max_time)");
        }
        format!("constraint \"{name}\" cannot be checked for {about}: {why}")
    })?;
    let result = |message: String| {
        let message = format!("{message}\nviolatedConstraint: {}", constraint.name);
        let result = ResultItem { severity: Some(constraint.severity.clone()), ..report::plain(message) };
        result.about(reviewed.resource).in_file_of(reviewed.resource)
    };
    Ok(violations.into_iter().map(|violation| result(violation.message)).collect())
}

/// By file, place in it, how bad it is, resource and text.
fn order(result: &ResultItem) -> impl Ord + use<> {
    let file = result.file.clone().unwrap_or_default();
    let about = result.resource_ref.clone().unwrap_or_default();
    let severity = match &result.severity {
        Some(Severity::Error) => 0,
        Some(Severity::Warning) => 1,
        Some(Severity::Info | Severity::Other(_)) | None => 2,
    };
    let resource = [about.api_version, about.kind, about.namespace, about.name];
    (file.path, file.index, severity, resource, result.message.clone())
}

const DOC: Doc = Doc {
    purpose: "Checks the policies that are in the list on all resources of the list. A policy is a constraint of Gatekeeper; \
              its template, which has the Rego, is in the list as well. What `spec.match` of a constraint says is kept; the \
              action `warn` makes warnings, `dryrun` information, all others errors. Rego is that of version 0 unless the \
              template says version 1; `input.review` has kind, name, namespace, object and the operation `CREATE`, and \
              `data.inventory` has all resources of the list. Policies run in a process of their own, and within limits: 1 MiB \
              of Rego (`max_source`), 12 brackets in each other (`max_nesting`), 500 operators in an expression (`max_operators`), 5 s for one \
              constraint and one resource (`max_time`), 16 MiB of messages (`max_output`).",
    config: &[],
    example: "",
    deviations: &[
        Deviation {
            there: "functions of Rego that read the clock, chance, the network or the environment answer",
            here: "they are refused, so that equal lists give equal answers",
            fixtures: &["chance", "clock"],
        },
        Deviation {
            there: "all functions of Rego are there",
            here: "those for schemas, certificates, tokens, time, YAML and a few others are not: calling one is an error when it is \
                   reached",
            fixtures: &["unknown-function"],
        },
        Deviation {
            there: "parameters that are not what the schema of the template says are refused in the words of the server",
            here: "they are refused as well; each violation names its field, in the words of `kubeconform`",
            fixtures: &["parameters-wrong", "parameters-several"],
        },
        Deviation {
            there: "errors of Rego are those of its own compiler, some of several lines",
            here: "they have one line, the place first, in the words of another engine",
            fixtures: &["bad-rego", "no-violation-rule"],
        },
        Deviation {
            there: "a `spec.match` that cannot be read, and a violation without a text, are refused in words of Go",
            here: "the message names the field, or the constraint and the resource",
            fixtures: &["bad-match", "runtime-error"],
        },
        Deviation {
            there: "an entry of `kinds` without `apiGroups` selects nothing",
            here: "it selects the kinds of all groups, as an empty list does",
            fixtures: &["match"],
        },
        Deviation {
            there: "`input.review` has no operation",
            here: "it has `CREATE`, as when a resource is applied for the first time",
            fixtures: &["review"],
        },
        Deviation {
            there: "only the legacy annotations name the file of a resource, and results are sorted by it",
            here: "the current ones do as well",
            fixtures: &["order"],
        },
        Deviation {
            there: "templates with their Rego in the list `code`, and with Rego of version 1, are refused",
            here: "they are read, as by later releases of Gatekeeper",
            fixtures: &["rego-v1"],
        },
        Deviation {
            there: "the kinds that are known are listed in lower case, in any order",
            here: "they are spelled as they are, in alphabetical order",
            fixtures: &["missing-template"],
        },
        Deviation {
            there: "the namespace selector of a constraint needs the namespace",
            here: "a namespace that is not in the list has the one label that every namespace has, its name",
            fixtures: &["namespace-selector"],
        },
        Deviation {
            there: "templates with code for the engine of Kubernetes (CEL) are added",
            here: "they are refused by name",
            fixtures: &["cel-template"],
        },
    ],
};
