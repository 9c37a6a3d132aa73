//! What configures a function.

use std::collections::BTreeMap;

use lanai_krm::kptfile::{Function, Invalid, Stage};
use lanai_krm::package::Folder;
use lanai_krm::{Package, Resource};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::{Content, Document};

/// Why a function has no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be one. `Display` gives kpt's text.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The file is not among the resources of the package.
    #[error(
        "functionConfig resource for {stage} {} is missing from path {path}, this also occurs if {path} is part of a subpackage",
        Quoted(.function), path = Quoted(.path)
    )]
    Missing {
        /// `mutator` or `validator`.
        stage: &'static str,
        /// The function, as the Kptfile names it.
        function: String,
        /// The file, as the Kptfile names it.
        path: String,
    },
    /// The texts of a `configMap` cannot be written.
    #[error("configMap cannot be written: {0}")]
    Unwritable(lanai_yaml::edit::Error),
}

/// A config map with these texts, as functions get it that are configured in place.
///
/// # Errors
/// When a text cannot be written as YAML.
pub fn config_map<'a>(
    kind: &str,
    data: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Resource, lanai_yaml::edit::Error> {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\n";
    let mut document = Document::parse(text).expect("this is YAML");
    document.edit_together(|document| {
        let mut root = document.root_mut();
        root.insert("kind", Content::string(kind))?;
        root.insert("data", Content::mapping())?;
        let mut values = root.get_mut("data")?;
        for (key, value) in data {
            values.insert(key, Content::string(value))?;
        }
        Ok::<_, lanai_yaml::edit::Error>(())
    })?;
    Ok(Resource::try_from(document).expect("it is a mapping"))
}

/// What can be said about the file that configures a function before any runs. `package` is the whole tree, `of` the package
/// whose pipeline it is, `field` where the function stands in it.
pub(crate) fn check_file(
    package: &Package,
    of: &Folder,
    function: &Function,
    field: &str,
) -> Result<(), Invalid> {
    if function.config_path.is_empty() {
        return Ok(());
    }
    let wrong = |reason: String| Invalid {
        field: format!("{field}.configPath"),
        value: Some(function.config_path.clone()),
        reason,
    };
    let named = Quoted(&function.config_path);
    let Some(file) = file_of(of, function).and_then(|path| package.get(&path)) else {
        return Err(wrong(format!(
            "failed to open functionConfig from path {named}: open {named}: no such file or directory"
        )));
    };
    let text = String::from_utf8_lossy(file.content());
    let documents = Resource::parse_stream(&text)
        .map_err(|error| wrong(format!("functionConfig {named} cannot be read: {error}")))?;
    match documents.as_slice() {
        [] => Err(wrong(format!("functionConfig {named} is empty"))),
        [config] => config.check_krm().map_err(|missing| wrong(format!("functionConfig {named}: {missing}"))),
        more => {
            let count = more.len();
            Err(wrong(format!("functionConfig {named} must not contain more than one config, got {count}")))
        }
    }
}

/// The file that configures a function, as seen from the root.
pub(crate) fn file_of(of: &Folder, function: &Function) -> Option<SafePath> {
    path(&function.config_path).and_then(|path| inside(of, &path))
}

/// The function, as the Kptfile names it.
pub(crate) fn named(function: &Function) -> &str {
    if function.image.is_empty() { &function.exec } else { &function.image }
}

/// The configuration of a function, with the changes that functions before it made.
pub(crate) fn of(
    function: &Function,
    stage: Stage,
    of: &Folder,
    items: &[Resource],
) -> Result<Option<Resource>, ConfigError> {
    if !function.config_map.is_empty() {
        return map(&function.config_map).map(Some);
    }
    if function.config_path.is_empty() {
        return Ok(None);
    }
    let wanted = path(&function.config_path);
    let is_it = |item: &&Resource| {
        item.origin().is_some_and(|origin| origin.package == *of && Some(&origin.path) == wanted.as_ref())
    };
    let missing = || ConfigError::Missing {
        stage: match stage {
            Stage::Mutators => "mutator",
            Stage::Validators => "validator",
        },
        function: named(function).to_owned(),
        path: function.config_path.clone(),
    };
    items.iter().find(is_it).cloned().map(Some).ok_or_else(missing)
}

fn map(data: &BTreeMap<String, String>) -> Result<Resource, ConfigError> {
    let pairs = data.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    config_map("ConfigMap", pairs).map_err(ConfigError::Unwritable)
}

/// The path of a file that configures a function, as seen from its package.
fn path(text: &str) -> Option<SafePath> {
    lanai_krm::package::resource_path(text).ok()
}

/// Where new resources of a function go that is configured by a file: beside that file, or beside the folder `functions` that
/// it is in.
pub(crate) fn beside(config: Option<&Resource>) -> Option<SafePath> {
    let folder = config?.origin()?.path.parent()?;
    if folder.file_name() == "functions" { folder.parent() } else { Some(folder) }
}

/// The path as seen from the root.
pub(crate) fn inside(of: &Folder, path: &SafePath) -> Option<SafePath> {
    match of {
        Folder::Root => Some(path.clone()),
        Folder::At(folder) => format!("{folder}/{path}").parse().ok(),
    }
}
