//! `set-enforcement-action`.

use lanai_krm::{ResourceList, ResultItem};

use crate::config;
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan, keys};
use crate::report::{self, About};

/// Sets what happens when a policy is violated.
pub struct SetEnforcementAction;

const ACTIONS: [&str; 3] = ["deny", "warn", "dryrun"];

impl Function for SetEnforcementAction {
    fn name(&self) -> &'static str {
        "set-enforcement-action"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets `spec.enforcementAction` of all constraints: resources of `constraints.gatekeeper.sh/v1beta1`.",
            config: &[Field { path: "data.enforcementAction", meaning: "`deny`, `warn` or `dryrun`" }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  enforcementAction: warn\n",
            deviations: &[
                Deviation {
                    there: "the comment on the line of the action is lost",
                    here: "it stays",
                    fixtures: &["simple", "several", "unchanged"],
                },
                Deviation {
                    there: "an action with an anchor loses it, and its aliases break the text",
                    here: "the anchor stays, and its aliases follow",
                    fixtures: &["anchors"],
                },
                Deviation {
                    there: "ends on `spec` without a value",
                    here: "the action is added",
                    fixtures: &["no-spec"],
                },
                Deviation {
                    there: "words about a `spec` that is no mapping name types of Go",
                    here: "the message names the field",
                    fixtures: &["spec-is-text"],
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
        let action = match action(list) {
            Ok(action) => action,
            Err(message) => {
                let message = format!("failed to process policies: {message}");
                return Err(Failure::report(list, report::error(message)));
            }
        };
        let mut policies = Vec::new();
        for item in &mut list.items {
            if item.api_version().is_none_or(|version| version != "constraints.gatekeeper.sh/v1beta1") {
                continue;
            }
            let mut plan = Plan::default();
            plan.push(keys(["spec", "enforcementAction"]), Change::Text(action.clone()));
            match plan.apply(item) {
                Ok(()) => {
                    let message = format!("Policy name: [{}]", item.name().unwrap_or_default());
                    policies.push(report::info(message).in_file_of(item));
                }
                Err(error) => {
                    let message = format!("failed to process policies: {}", error.message);
                    return Err(Failure::report(list, ResultItem { message, ..*error }));
                }
            }
        }
        list.results.push(match policies.len() {
            0 => report::warning(format!("Found no policy to set to [{action}]")),
            count => report::info(format!("Number of policies set to [{action}]: {count}")),
        });
        list.results.extend(policies);
        Ok(())
    }
}

fn action(list: &ResourceList) -> Result<String, String> {
    let [deny, warn, dry_run] = ACTIONS;
    let wrong = || format!("expected values for enforcementAction are [{deny}] or [{warn}] or [{dry_run}]");
    let pairs = match config::given(list) {
        Some(config) => config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?,
        None => Vec::new(),
    };
    if pairs.len() != 1 {
        return Err("expecting exactly 1 enforcementAction as part of the ConfigMap".into());
    }
    let action = config::value(&pairs, "enforcementAction").filter(|action| ACTIONS.contains(action));
    action.map(String::from).ok_or_else(wrong)
}
