//! Files of others.

use lanai_krm::heal::heal_one;
use lanai_krm::{Kptfile, Resource, ResourceList};

use crate::resource_list::unmarked;

/// The texts of a corpus, with their paths; `None` where it is not on this machine.
fn texts(name: &str, test: &str) -> Option<Vec<(String, String)>> {
    let Some(corpus) = lanai_testkit::corpus(name) else {
        lanai_testkit::skip(test, &format!("the corpus \"{name}\" is not here"));
        return None;
    };
    let (mut open, mut found) = (vec![corpus], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            found.push((path.display().to_string(), text));
        }
    }
    Some(found)
}

#[test]
fn resources_survive_the_wire() {
    let Some(texts) = texts("manifests", "resources_survive_the_wire") else { return };
    let (mut seen, mut equal) = (0, 0);
    for (path, text) in texts {
        let Ok(items) = Resource::parse_stream(&text) else { continue };
        let list = ResourceList { items, ..ResourceList::default() };
        let again = ResourceList::parse(&list.to_string()).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(again.items.len(), list.items.len(), "{path}");
        for (sent, received) in list.items.iter().zip(&again.items) {
            assert!(sent.means_the_same(received), "{path}\n{sent}\n{received}");
            let marks = |resource: &Resource| resource.to_string().matches('#').count();
            assert_eq!(marks(sent), marks(received), "{path}\n{sent}\n{received}");
            seen += 1;
            equal += usize::from(unmarked(sent) == received.to_string());
        }
    }
    assert!(seen > 500, "{seen} resources");
    assert!(equal * 100 > seen * 98, "{equal} of {seen} resources are the same to the byte");
}

#[test]
fn healing_changes_no_value() {
    let Some(texts) = texts("manifests", "healing_changes_no_value") else { return };
    let mut came_back = 0;
    for (path, text) in texts.into_iter().filter(|(_, text)| text.contains('#')) {
        for resource in Resource::parse_stream(&text).unwrap_or_default() {
            let Ok(value) = resource.root().deserialize::<serde_json::Value>() else { continue };
            let document = lanai_yaml::Document::from_serialize(&value).unwrap();
            let plain = Resource::parse(&document.to_string()).unwrap();
            let mut healed = plain.clone();
            heal_one(&resource, &mut healed);
            assert!(healed.means_the_same(&plain), "{path}\n{healed}");
            let marks = |resource: &Resource| resource.to_string().matches('#').count();
            assert!(marks(&healed) <= marks(&resource), "{path}\n{healed}");
            came_back += marks(&healed) - marks(&plain);
            let mut same = resource.clone();
            heal_one(&resource, &mut same);
            assert_eq!(same.to_string(), resource.to_string(), "{path}");
        }
    }
    assert!(came_back > 500, "{came_back} comments");
}

#[test]
fn kptfiles_of_others_are_read_and_edited_in_one_place() {
    let Some(texts) = texts("manifests", "kptfiles_of_others") else { return };
    let mut seen = 0;
    for (path, text) in texts.into_iter().filter(|(path, _)| path.ends_with("Kptfile")) {
        let Ok(mut kptfile) = Kptfile::parse(&text) else { continue };
        assert_eq!(kptfile.to_string(), text, "{path}");
        let name = kptfile.name().to_owned();
        kptfile.set_name("a-name-that-nobody-has").unwrap();
        let back = kptfile.to_string().replacen("a-name-that-nobody-has", &name, 1);
        assert_eq!(back, text, "{path}");
        seen += 1;
    }
    assert!(seen > 5, "{seen} Kptfiles");
}
