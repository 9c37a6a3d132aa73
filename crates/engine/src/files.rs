//! The files of a package as `PackageRevisionResources` shows them, and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lanai_krm::heal::heal;
use lanai_krm::package::{File, Mode, OtherYaml, Package, Placed, ReadOptions};
use lanai_krm::{Resource, package};
use lanai_types::SafePath;
use serde_json::{Map, Value, json};

use crate::error::{Error, Reason, Subject};

/// The field with files that are texts.
pub const TEXTS: &str = "resources";
/// The field with files that are none, in base 64.
pub const BINARIES: &str = "binaryResources";

/// The files of a package: texts, and others in base 64. Symbolic links are in neither.
pub fn show(package: &Package) -> (Value, Option<Value>) {
    let (mut texts, mut binaries) = (Map::new(), Map::new());
    for (path, file) in package.iter() {
        match file.text() {
            Some(text) => _ = texts.insert(path.to_string(), json!(text)),
            None if file.mode() == Mode::Symlink => {}
            None => _ = binaries.insert(path.to_string(), json!(STANDARD.encode(file.content()))),
        }
    }
    (Value::Object(texts), (!binaries.is_empty()).then_some(Value::Object(binaries)))
}

/// The package that a client wants in place of the old one.
///
/// A file that is in neither map is gone, but for those that the client cannot know of: symbolic links, and, where it sends no map of
/// others, files that are no texts. Modes stay. Comments that the client lost are put back.
///
/// # Errors
/// Paths that leave the package, content that is no base 64, limits.
pub fn replace(old: &Package, spec: &Value, name: &str) -> Result<Package, Error> {
    let refuse = |path: &str, why: &str| {
        Error::new(Reason::Invalid, name, format!("spec.resources[{path}]: {why}"))
            .of(Subject::Resources)
            .because("FieldValueInvalid", why, format!("spec.resources[{path}]"))
    };
    let mut new = Package::new(*old.limits());
    let mut put = |raw: &str, content: Vec<u8>| {
        // As with Porch, a slash in front is dropped.
        let path: SafePath = raw
            .trim_start_matches('/')
            .parse()
            .map_err(|error: lanai_types::safe_path::Error| refuse(raw, &error.to_string()))?;
        let mode = old.get(&path).map(File::mode).filter(|mode| *mode != Mode::Symlink);
        let file = match old.get(&path) {
            Some(file) if file.content() == content => file.clone(),
            _ => File::new(content, mode.unwrap_or(Mode::Regular)),
        };
        if new.get(&path).is_some() {
            return Err(refuse(raw, "the path is there twice"));
        }
        new.insert(path, file).map_err(|error| refuse(raw, &error.to_string())).map(|_| ())
    };
    for (path, text) in spec[TEXTS].as_object().into_iter().flatten() {
        let text = text.as_str().ok_or_else(|| refuse(path, "a file is a text"))?;
        put(path, text.as_bytes().to_vec())?;
    }
    let binaries = spec[BINARIES].as_object();
    for (path, encoded) in binaries.into_iter().flatten() {
        let encoded = encoded.as_str().unwrap_or_default();
        let content = STANDARD.decode(encoded).map_err(|_| refuse(path, "it is not in base 64"))?;
        put(path, content)?;
    }
    for (path, file) in old.iter() {
        let is_unseen = file.mode() == Mode::Symlink || (file.text().is_none() && binaries.is_none());
        if is_unseen && new.get(path).is_none() {
            // Where something else stands in its way by now, it goes.
            let _ = new.insert(path.clone(), file.clone());
        }
    }
    heal_comments(old, &mut new);
    Ok(new)
}

/// Puts back comments that a client lost, in files that changed. Best effort: it changes no value, and fails nothing.
fn heal_comments(old: &Package, new: &mut Package) {
    let options = ReadOptions { other_yaml: OtherYaml::Opaque, ..ReadOptions::default() };
    let diff = old.diff(new);
    if diff.changed.is_empty() && diff.added.is_empty() {
        return;
    }
    let (Ok(before), Ok(after)) = (located(old, options), located(new, options)) else { return };
    let mut healed: Vec<Resource> = after.iter().map(|one| one.resource.clone()).collect();
    let before: Vec<Resource> = before.into_iter().map(|one| one.resource).collect();
    heal(&before, &mut healed);
    let placed = after.into_iter().zip(healed).map(|(one, resource)| Placed {
        resource,
        path: Some(one.path),
        index: Some(one.index),
    });
    let mut written = new.clone();
    if written.write_resources(placed.collect::<Vec<_>>(), options).is_ok() {
        *new = written;
    }
}

fn located(package: &Package, options: ReadOptions) -> Result<Vec<package::Located>, package::Error> {
    package.resources(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_types::Limits;

    fn package(files: &[(&str, File)]) -> Package {
        Package::from_entries(files.iter().cloned(), Limits::DEFAULT).unwrap()
    }

    #[test]
    fn what_clients_do_not_see_stays() {
        let old = package(&[
            ("Kptfile", File::from_text("a: b\n")),
            ("run.sh", File::new(*b"#!/bin/sh\n", Mode::Executable)),
            ("link", File::new(*b"Kptfile", Mode::Symlink)),
            ("logo.png", File::regular([0, 1])),
        ]);
        let (texts, binaries) = show(&old);
        assert_eq!(texts, json!({"Kptfile": "a: b\n", "run.sh": "#!/bin/sh\n"}));
        assert_eq!(binaries, Some(json!({"logo.png": "AAE="})));
        let same = replace(&old, &json!({"resources": texts}), "n").unwrap();
        assert_eq!(same, old);
        let without =
            replace(&old, &json!({"resources": {"run.sh": "x"}, "binaryResources": {}}), "n").unwrap();
        let left: Vec<_> = without.iter().map(|(path, file)| (path.to_string(), file.mode())).collect();
        assert_eq!(left, [("link".to_owned(), Mode::Symlink), ("run.sh".to_owned(), Mode::Executable)]);
    }

    #[test]
    fn bad_files_are_named() {
        let old = package(&[]);
        for (spec, words) in [
            (json!({"resources": {"../x": "y"}}), "../x"),
            (json!({"resources": {"a": "y", "a/b": "z"}}), "a"),
            (json!({"binaryResources": {"a": "%"}}), "it is not in base 64"),
            (json!({"resources": {"/a": "y", "a": "z"}}), "the path is there twice"),
            (json!({"resources": {".git/config": "y"}}), ".git"),
        ] {
            let error = replace(&old, &spec, "n").unwrap_err();
            assert!(error.message.contains(words), "{error}");
            assert_eq!(error.reason, Reason::Invalid);
        }
    }

    #[test]
    fn comments_that_a_client_lost_come_back() {
        let text =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  # why\n  x: \"1\"\n  y: \"2\"\n";
        let old = package(&[("cm.yaml", File::from_text(text))]);
        let sent = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"3\"\n  y: \"2\"\n";
        let new = replace(&old, &json!({"resources": {"cm.yaml": sent}}), "n").unwrap();
        let (texts, _) = show(&new);
        assert_eq!(texts["cm.yaml"], text.replace("x: \"1\"", "x: \"3\""));
    }
}
