//! `delete-annotations`.

use lanai_krm::ResourceList;

use crate::config;
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::report::{self, About};

/// Removes annotations.
pub struct DeleteAnnotations;

impl Function for DeleteAnnotations {
    fn name(&self) -> &'static str {
        "delete-annotations"
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Removes annotations from all resources, with the mapping when it would be empty.",
            config: &[Field {
                path: "data.annotationKeys",
                meaning: "the names of the annotations, with commas between them",
            }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  annotationKeys: example.com/owner,example.com/note\n",
            deviations: &[
                Deviation {
                    there: "blanks beside a comma are part of the name",
                    here: "they are not",
                    fixtures: &["blanks"],
                },
                Deviation {
                    there: "crashes without a configuration, or on a list in place of the text",
                    here: "the same error as for no names; the message about a list names the field",
                    fixtures: &["no-config", "wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let keys = match keys(list) {
            Ok(keys) => keys,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        let from = list.results.len();
        let mut removed = Vec::new();
        let mut count = 0;
        for item in &mut list.items {
            let mut any = false;
            for key in &keys {
                match item.remove_annotation(key) {
                    Ok(false) => {}
                    Ok(true) => {
                        any = true;
                        let name = item.name().unwrap_or_default();
                        let message = format!("Annonation: [{key}] removed from resource: [{name}]");
                        removed.push(report::info(message).in_file_of(item));
                    }
                    Err(cause) => {
                        let path = format!("metadata.annotations.{key}");
                        let message = format!("the field \"{path}\" cannot be removed: {cause}");
                        list.results.push(report::error(message).about(item).at(&path).in_file_of(item));
                    }
                }
            }
            count += usize::from(any);
        }
        list.results.push(report::info(if count == 0 {
            "None of the resources had the provided annotations to delete".into()
        } else {
            format!("The provided annotations were deleted from {count} resource(s)")
        }));
        list.results.extend(removed);
        Failure::if_reported(list, from)
    }
}

fn keys(list: &ResourceList) -> Result<Vec<String>, String> {
    let missing = "annotationKeys was not provided as part of the config or paramters to the function";
    let config = config::given(list).ok_or(missing)?;
    let pairs = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
    let keys = config::value(&pairs, "annotationKeys").ok_or(missing)?;
    let keys: Vec<String> =
        keys.split(',').map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect();
    if keys.is_empty() { Err(missing.into()) } else { Ok(keys) }
}
