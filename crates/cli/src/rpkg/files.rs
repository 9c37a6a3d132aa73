//! The files of a revision, here.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lanai_krm::package::File;
use lanai_krm::{Package, kptfile};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::{Document, Path as YamlPath};
use serde_json::{Map, Value, json};

use crate::failure::{Code, Failure, cause};
use crate::output;
use crate::pkg::local::LIMITS;

/// The file that says which state of a revision a folder is.
pub(super) const METADATA: &str = ".KptRevisionMetadata";

/// The files of a `PackageRevisionResources`.
///
/// # Errors
/// When a name is none that a file may have here.
pub(super) fn package(resources: &Value) -> Result<Package, Failure> {
    let mut package = Package::new(LIMITS);
    let mut insert = |path: &str, file: File| {
        let refused = |why: String| {
            Failure::of(Code::ServerError, format!("the server has a file {}: {why}", Quoted(path)))
        };
        let safe: SafePath =
            path.parse().map_err(|error: lanai_types::safe_path::Error| refused(error.to_string()))?;
        package.insert(safe, file).map(drop).map_err(|error| refused(error.to_string()))
    };
    let spec = &resources["spec"];
    for (path, text) in spec["resources"].as_object().into_iter().flatten() {
        insert(path, File::from_text(text.as_str().unwrap_or_default()))?;
    }
    for (path, bytes) in spec["binaryResources"].as_object().into_iter().flatten() {
        let bytes = STANDARD.decode(bytes.as_str().unwrap_or_default());
        let bytes = bytes.map_err(|error| {
            Failure::of(
                Code::ServerError,
                format!("the server has a file {} as no base 64: {error}", Quoted(path)),
            )
        })?;
        insert(path, File::regular(bytes))?;
    }
    Ok(package)
}

/// A package as people compare it: Kptfiles without what renders write about themselves.
pub(super) fn compared(package: &Package) -> Package {
    let mut compared = package.clone();
    for (path, file) in package.iter().filter(|(path, _)| path.file_name() == kptfile::FILE_NAME) {
        let status = YamlPath::parse("status").ok();
        let Some((status, mut document)) =
            status.zip(file.text().and_then(|text| Document::parse(text).ok()))
        else {
            continue;
        };
        // Where there is none, or it cannot be cut out, the file is shown as it is.
        if document.remove(&status).unwrap_or(false) {
            let _ = compared.insert(path.clone(), File::from_text(document.to_string()));
        }
    }
    compared
}

/// Puts files into a `PackageRevisionResources` in place of those that it has.
pub(super) fn put(package: &Package, resources: &mut Value) {
    let had_binary = resources["spec"].get("binaryResources").is_some();
    let mut texts = Map::new();
    let mut binary = Map::new();
    for (path, file) in package.iter() {
        match file.text() {
            Some(text) => texts.insert(path.to_string(), json!(text)),
            None => binary.insert(path.to_string(), json!(STANDARD.encode(file.content()))),
        };
    }
    resources["spec"]["resources"] = Value::Object(texts);
    // Servers that have none do not know the field.
    if had_binary || !binary.is_empty() {
        resources["spec"]["binaryResources"] = Value::Object(binary);
    }
}

/// The text of the file that says which state a folder is.
///
/// # Errors
/// Never, as far as is known: an object has a form in YAML.
pub(super) fn metadata(resources: &Value) -> Result<String, Failure> {
    let metadata = &resources["metadata"];
    let fields = ["name", "namespace", "creationTimestamp", "resourceVersion", "uid"];
    let pairs = fields.iter().filter(|field| !metadata[**field].is_null());
    let shown: Map<String, Value> =
        pairs.map(|field| ((*field).to_owned(), metadata[*field].clone())).collect();
    output::yaml(&json!({"apiVersion": "", "kind": "KptRevisionMetadata", "metadata": shown}))
}

/// Makes a folder that only its owner can read, whole or not at all.
///
/// # Errors
/// When it is there, or cannot be made.
pub(super) fn create(folder: &Path, package: &Package, metadata: &str) -> Result<(), Failure> {
    let shown = folder.display().to_string();
    let cannot = |error: &std::io::Error| {
        Failure::of(Code::File, format!("cannot make {}: {}", Quoted(&shown), cause(error)))
    };
    let parent = folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| cannot(&error))?;
    let temporary =
        tempfile::Builder::new().prefix(".lanai-pull-").tempdir_in(parent).map_err(|error| cannot(&error))?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    let write = |path: &str, content: &[u8]| {
        let place = temporary.path().join("files").join(path);
        builder.create(place.parent().unwrap_or(temporary.path()))?;
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?.write_all(content)
    };
    write(METADATA, metadata.as_bytes()).map_err(|error| cannot(&error))?;
    for (path, file) in package.iter().filter(|(path, _)| path.as_str() != METADATA) {
        write(path.as_str(), file.content()).map_err(|error| cannot(&error))?;
    }
    fs::rename(temporary.path().join("files"), folder).map_err(|error| cannot(&error))
}

/// Replaces the file that says which state a folder is.
///
/// # Errors
/// When it cannot be written.
pub(super) fn refresh(folder: &Path, metadata: &str) -> Result<(), Failure> {
    let path = folder.join(METADATA);
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(metadata.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)
    });
    written.map(drop).map_err(|error| {
        Failure::of(
            Code::File,
            format!("cannot write {}: {}", Quoted(&path.display().to_string()), cause(&error)),
        )
        .hint("what was pushed is on the server; pull it again before the next push")
    })
}
