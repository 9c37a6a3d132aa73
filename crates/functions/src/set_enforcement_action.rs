//! `set-enforcement-action`.

use lanai_krm::ResourceList;

use crate::config;
use crate::function::{Doc, Failure, Field, Function};
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
            deviations: &[],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let action = match action(list) {
            Ok(action) => action,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        let from = list.results.len();
        let mut count = 0;
        for item in &mut list.items {
            if item.api_version().is_none_or(|version| version != "constraints.gatekeeper.sh/v1beta1") {
                continue;
            }
            let mut plan = Plan::default();
            plan.push(keys(["spec", "enforcementAction"]), Change::Text(action.clone()));
            match plan.apply(item) {
                Ok(()) => {
                    count += 1;
                    let message = format!("Policy name: [{}]", item.name().unwrap_or_default());
                    list.results.push(report::info(message).about(item).in_file_of(item));
                }
                Err(error) => list.results.push(*error),
            }
        }
        list.results.push(report::info(if count == 0 {
            format!("Found no policy to set to [{action}]")
        } else {
            format!("Number of policies set to [{action}]: {count}")
        }));
        Failure::if_reported(list, from)
    }
}

fn action(list: &ResourceList) -> Result<String, String> {
    let [deny, warn, dry_run] = ACTIONS;
    let wrong = || format!("expected values for enforcementAction are [{deny}] or [{warn}] or [{dry_run}]");
    let config = config::given(list).ok_or_else(wrong)?;
    let pairs = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
    if let Some(pair) = pairs.iter().find(|pair| pair.key != "enforcementAction") {
        return Err(format!(
            "the field \"data.{}\" of the function config is unknown, only \"data.enforcementAction\" is expected",
            pair.key
        ));
    }
    let action = config::value(&pairs, "enforcementAction").filter(|action| ACTIONS.contains(action));
    action.map(String::from).ok_or_else(wrong)
}
