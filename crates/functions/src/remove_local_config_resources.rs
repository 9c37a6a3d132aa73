//! `remove-local-config-resources`.

use lanai_krm::resource::annotation;
use lanai_krm::{Resource, ResourceList};

use crate::function::{Doc, Failure, Function};
use crate::report::{self, About};

/// Removes the resources that are for local tools only.
pub struct RemoveLocalConfigResources;

impl Function for RemoveLocalConfigResources {
    fn name(&self) -> &'static str {
        "remove-local-config-resources"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Removes the resources with the annotation `config.kubernetes.io/local-config: \"true\"`, in letters of any case; other values stay.",
            config: &[],
            example: "",
            deviations: &[],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let is_local = |item: &Resource| {
            item.annotation(annotation::LOCAL_CONFIG).is_some_and(|value| value.eq_ignore_ascii_case("true"))
        };
        let (gone, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut list.items).into_iter().partition(is_local);
        list.items = stay;
        if gone.is_empty() {
            let message = "Found no resources to prune with the local config annotation";
            list.results.push(report::warning(message));
            return Ok(());
        }
        list.results.push(report::info(format!("Number of resources pruned: {}", gone.len())));
        for item in &gone {
            let message = format!("Resource name: [{}]", item.name().unwrap_or_default());
            list.results.push(report::info(message).in_file_of(item));
        }
        Ok(())
    }
}
