//! `lanai pkg init`: makes a folder a package.

use std::fs;
use std::path::Path;

use lanai_krm::Kptfile;
use lanai_types::quote::Quoted;

use super::args::Init;
use super::local;
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};

/// The file that says what the package is called, for functions.
pub(super) const CONTEXT_FILE: &str = "package-context.yaml";

pub(super) fn run(init: &Init, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = local::absolute(&init.folder, io)?;
    let cannot = |action: &str, path: &Path, error: &std::io::Error| {
        Failure::of(
            Code::File,
            format!("cannot {action} {}: {}", Quoted(&path.display().to_string()), cause(error)),
        )
    };
    if root.is_file() {
        let shown = init.folder.display().to_string();
        return Err(Failure::of(
            Code::File,
            format!("{} is a file, where a folder is needed", Quoted(&shown)),
        ));
    }
    if !root.is_dir() {
        io.tell(&format!("creating package directory {}", init.folder.display()));
        fs::create_dir_all(&root).map_err(|error| cannot("create", &root, &error))?;
    }
    // The name of `.` is that of the folder it stands for.
    let root = fs::canonicalize(&root).map_err(|error| cannot("open", &root, &error))?;
    let name = local::base(&root);
    let files = [
        (lanai_krm::kptfile::FILE_NAME, kptfile(&name, init)?),
        ("README.md", readme(&name, &init.description)),
        (CONTEXT_FILE, context("example")),
    ];
    for (file, text) in files {
        let path = root.join(file);
        // What is there stays.
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        io.tell(&format!("writing {}", init.folder.join(file).display()));
        match crate::file::create(&path, &text) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(cannot("write", &path, &error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(Exit::Success)
}

fn kptfile(name: &str, init: &Init) -> Result<String, Failure> {
    let mut kptfile = Kptfile::new(name);
    let edited = kptfile.edit(|fields| {
        fields.metadata.annotations.insert("config.kubernetes.io/local-config".into(), "true".into());
        let info = fields.info.get_or_insert_default();
        info.site.clone_from(&init.site);
        info.description.clone_from(&init.description);
        info.keywords.clone_from(&init.keywords);
    });
    edited.map_err(|error| super::kptfile::uneditable(&kptfile, &error))?;
    Ok(kptfile.to_string())
}

/// The `ConfigMap` that says what a package is called.
pub(super) fn context(name: &str) -> String {
    let name = serde_json::Value::from(name);
    let name = lanai_yaml::Document::from_serialize(&name)
        .map_or_else(|_| name.to_string(), |name| name.to_string());
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    \
         config.kubernetes.io/local-config: \"true\"\ndata:\n  name: {}\n",
        name.trim_end()
    )
}

fn readme(name: &str, description: &str) -> String {
    format!(
        "# {name}\n\n{description}\n\n## Get it\n\n```\nlanai pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}\n```\n\n\
         ## Look at it\n\n```\nlanai pkg tree {name}\n```\n\n## Keep it up to date\n\n```\nlanai pkg update {name}@VERSION\n```\n"
    )
}
