//! A package from nothing.

use async_trait::async_trait;
use lanai_krm::package::{File, Package};
use lanai_krm::{Kptfile, kptfile};
use lanai_repository::packages::Event;
use lanai_types::Limits;

use super::{Handler, Made, Makes, Work, refused, without_payload};
use crate::context;
use crate::error::Error;
use crate::object::{InitTask, Task};

/// Makes a package from nothing.
pub struct Init;

#[async_trait]
impl Handler for Init {
    fn kind(&self) -> &'static str {
        "init"
    }

    fn event(&self) -> Event {
        Event::Init
    }

    fn makes(&self) -> Makes {
        Makes::Package
    }

    async fn apply(&self, work: &Work<'_>, task: &Task) -> Result<Made, Error> {
        let init = task.init.as_ref().ok_or_else(|| without_payload(self.kind()))?;
        let mut package = Package::new(Limits::DEFAULT);
        let name = work.name.package().as_str();
        match init.subpackage.trim_matches('/') {
            "" => put(&mut package, "", name, init)?,
            folder => {
                put(&mut package, "", name, &InitTask::default())?;
                let leaf = folder.rsplit('/').next().unwrap_or(folder);
                put(&mut package, &format!("{folder}/"), leaf, init)?;
            }
        }
        Ok(Made::plain(package))
    }
}

fn put(package: &mut Package, folder: &str, name: &str, init: &InitTask) -> Result<(), Error> {
    let files = [
        (kptfile::FILE_NAME, kptfile_text(name, init)?),
        ("README.md", readme(name, &init.description)),
        (context::FILE, context::text("example", None)),
    ];
    for (file, text) in files {
        let path =
            format!("{folder}{file}").parse().map_err(|error| refused(format!("subpackage: {error}")))?;
        package.insert(path, File::from_text(text)).map_err(|error| refused(error.to_string()))?;
    }
    Ok(())
}

fn kptfile_text(name: &str, init: &InitTask) -> Result<String, Error> {
    let mut kptfile = Kptfile::new(name);
    let edited = kptfile.edit(|fields| {
        fields.metadata.annotations.insert("config.kubernetes.io/local-config".into(), "true".into());
        let info = fields.info.get_or_insert_default();
        info.site.clone_from(&init.site);
        info.description.clone_from(&init.description);
        info.keywords.clone_from(&init.keywords);
    });
    edited.map_err(|error| refused(format!("the Kptfile cannot be written: {error}")))?;
    Ok(kptfile.to_string())
}

fn readme(name: &str, description: &str) -> String {
    format!(
        "# {name}\n\n## Description\n{description}\n\n## Usage\n\n### Fetch the package\n`kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}`\n\n\
         ### View package content\n`kpt pkg tree {name}`\n\n### Apply the package\n`kubectl apply -R -f {name}`\n"
    )
}
