use lanai_krm::digest;
use lanai_krm::package::{File, OtherYaml, Package, Placed, ReadOptions};
use lanai_testkit::manifests;
use lanai_types::{Limits, SafePath};
use proptest::prelude::*;

/// Pieces of paths, hostile ones among them.
fn raw_path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        4 => "[a-c]{1,2}", 1 => Just("..".to_owned()), 1 => Just(".".into()), 1 => Just(String::new()), 1 => Just(".git".into()),
        1 => Just("a\\b".into()), 1 => Just("x.yaml".into()), 1 => ".{0,3}",
    ];
    prop::collection::vec(segment, 1..5).prop_map(|segments| segments.join("/"))
}

/// A resource file: manifests, comments, empty documents and other YAML, with and without a last line break.
fn resource_file() -> impl Strategy<Value = String> {
    let document = prop_oneof![
        6 => any::<u64>().prop_map(|seed| manifests(seed, 1)),
        1 => Just("# comment only\n".to_owned()), 1 => Just(String::new()), 1 => Just("values: 1\n".into()), 1 => Just("- 1\n- 2\n".into()),
        1 => Just("apiVersion: v1\nkind: A\ndata: {k: |+\n\n}\n".replace("|+\n\n", "v")),
        1 => Just("apiVersion: v1\nkind: A\ntext: |+\n  kept\n\n\n".into()),
    ];
    let separator = prop_oneof![4 => Just("---\n"), 1 => Just("--- # why\n"), 1 => Just("\n# behind\n---\n"), 1 => Just("...\n---\n")];
    let first = prop_oneof![3 => Just(""), 1 => Just("---\n"), 1 => Just("# licence\n---\n"), 1 => Just("# licence\n\n")];
    (first, prop::collection::vec((document, separator), 1..5), any::<bool>(), any::<bool>()).prop_map(
        |(first, documents, ends, windows)| {
            let mut text = first.to_owned();
            for (at, (document, separator)) in documents.iter().enumerate() {
                text.push_str(if at > 0 { separator } else { "" });
                text.push_str(document);
            }
            let text = if ends { text.as_str() } else { text.trim_end_matches('\n') };
            if windows { text.replace('\n', "\r\n") } else { text.to_owned() }
        },
    )
}

fn packages() -> impl Strategy<Value = Package> {
    let name = prop_oneof!["[ab]/[ab]\\.yaml", "[c-e]\\.yml", Just("Kptfile".to_owned())];
    prop::collection::btree_map(name, resource_file(), 0..4).prop_map(|files| {
        let entries = files.into_iter().map(|(path, text)| (path, File::from_text(text)));
        Package::from_entries(entries, Limits::DEFAULT).unwrap()
    })
}

fn options() -> impl Strategy<Value = ReadOptions> {
    prop_oneof![Just(OtherYaml::Opaque), Just(OtherYaml::Included)]
        .prop_map(|other_yaml| ReadOptions { other_yaml, ..ReadOptions::default() })
}

proptest! {
    #[test]
    fn no_entry_escapes(paths in prop::collection::vec(raw_path(), 1..5)) {
        let entries = paths.iter().map(|path| (path, File::from_text("")));
        let Ok(package) = Package::from_entries(entries, Limits::DEFAULT) else { return Ok(()) };
        prop_assert_eq!(package.len(), paths.len());
        for (path, _) in package.iter() {
            prop_assert!(path.components().all(|segment| !segment.is_empty() && segment != "." && segment != ".."));
            prop_assert!(!path.as_str().contains(['\\', '\0']) && !path.as_str().to_lowercase().contains(".git/"));
            let inside = std::path::Path::new("/root-of-package").join(path.as_str());
            prop_assert!(inside.starts_with("/root-of-package"));
            let file_above = std::iter::successors(path.parent(), SafePath::parent).any(|at| package.get(&at).is_some());
            prop_assert!(!file_above, "{path} is below a file");
        }
    }

    #[test]
    fn writing_what_was_read_changes_nothing(package in packages(), options in options()) {
        let mut written = package.clone();
        written.write_resources(package.resources(options).unwrap(), options).unwrap();
        prop_assert_eq!(&written, &package);
        prop_assert_eq!(digest::tree_id(&written), digest::tree_id(&package));
    }

    /// Each resource is deleted, renamed or kept by itself; reading again gives exactly what was meant, and what was
    /// not a resource is still there.
    #[test]
    fn what_is_written_is_read_again(package in packages(), options in options(), choice in prop::collection::vec(0..4u8, 0..16)) {
        let mut wanted = Vec::new();
        for (at, mut located) in package.resources(options).unwrap().into_iter().enumerate() {
            match choice.get(at).copied().unwrap_or(0) {
                1 => continue,
                2 => located.resource.set_name("renamed").unwrap(),
                3 => located.path = format!("moved/{at}.yaml").parse().unwrap(),
                _ => {}
            }
            wanted.push(located);
        }
        let mut written = package.clone();
        let placed = wanted.iter().cloned().map(Placed::from);
        written.write_resources(placed, options).unwrap();
        wanted.sort_by(|l, r| l.path.components().cmp(r.path.components()).then(l.index.cmp(&r.index)));
        let read = written.resources(options).unwrap();
        prop_assert_eq!(read.len(), wanted.len());
        for (read, wanted) in read.iter().zip(&wanted) {
            prop_assert_eq!(&read.path, &wanted.path);
            prop_assert!(read.resource.means_the_same(&wanted.resource), "{}\n{}", read.resource, wanted.resource);
        }
        for (path, file) in package.iter() {
            let (before, after) = (file.text().unwrap(), written.get(path).and_then(File::text).unwrap_or_default());
            if !after.is_empty() {
                prop_assert_eq!(before.matches("# comment only").count(), after.matches("# comment only").count());
            }
            if options.other_yaml == OtherYaml::Opaque {
                prop_assert_eq!(before.matches("values: 1").count(), after.matches("values: 1").count());
            }
        }
    }
}
