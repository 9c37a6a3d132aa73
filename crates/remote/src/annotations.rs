//! What callers wrote on resources for themselves.
//!
//! A caller in another process finds its resources in the answer by annotations that it put in, and evaluators that start programs put in
//! their own. Here the caller's are noted before a function runs, and put back afterwards.

use lanai_krm::package::Folder;
use lanai_krm::resource::{Origin, annotation};
use lanai_krm::{Resource, ResourceList};
use lanai_types::SafePath;

/// Annotations that are put in for the way.
const ON_THE_WAY: [&str; 10] = [
    annotation::LEGACY_INDEX,
    annotation::LEGACY_PATH,
    annotation::INDEX,
    annotation::PACKAGE_PATH,
    annotation::PATH,
    annotation::SEQUENCE_INDENT,
    annotation::SELECTION_ID,
    annotation::MIGRATION_ID,
    annotation::ID,
    annotation::LEGACY_ID,
];
/// Those that say where a resource stands: current name, legacy name.
const PLACES: [(&str, &str); 2] =
    [(annotation::PATH, annotation::LEGACY_PATH), (annotation::INDEX, annotation::LEGACY_INDEX)];

/// What was on each resource of a list.
#[derive(Debug)]
pub(crate) struct Noted(Vec<Vec<(&'static str, String)>>);

/// Notes what is on the resources, and numbers them.
pub(crate) fn note(list: &mut ResourceList) -> Noted {
    let noted = list.items.iter_mut().enumerate().map(|(number, item)| {
        let own = ON_THE_WAY.iter().filter_map(|key| Some((*key, item.annotation(key)?.into_owned())));
        let own: Vec<(&str, String)> = own.collect();
        let value = |key: &str| own.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str());
        let package = value(annotation::PACKAGE_PATH).and_then(|path| path.parse().ok());
        let path = item.path().and_then(|path| path.parse::<SafePath>().ok());
        let path = path.or_else(|| "resource.yaml".parse().ok());
        if let Some(path) = path {
            let package = package.map_or(Folder::Root, Folder::At);
            let index = item.index();
            item.set_origin(Some(Origin { package, path, index, serial: Some(number) }));
        }
        own
    });
    Noted(noted.collect())
}

impl Noted {
    /// Puts back what was on the resources. A place that the function changed stays changed, under both names.
    ///
    /// # Errors
    /// When annotations cannot be written.
    pub fn put_back(&self, list: &mut ResourceList) -> Result<(), lanai_yaml::edit::Error> {
        for item in &mut list.items {
            let serial = item.origin().and_then(|origin| origin.serial);
            if let Some(own) = serial.and_then(|serial| self.0.get(serial)) {
                restore(item, own)?;
            }
            item.set_origin(None);
        }
        Ok(())
    }
}

fn restore(item: &mut Resource, own: &[(&'static str, String)]) -> Result<(), lanai_yaml::edit::Error> {
    for (key, value) in own {
        if item.annotation(key).is_none() {
            item.set_annotation(key, value)?;
        }
    }
    for (current, legacy) in PLACES {
        let was = |key: &str| own.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let now = |key: &str, item: &Resource| item.annotation(key).map(std::borrow::Cow::into_owned);
        let (new, old) = (now(current, item), now(legacy, item));
        if new != was(current) && old == was(legacy) && old.is_some() {
            item.set_annotation(legacy, new.as_deref().unwrap_or_default())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_wrote_comes_back() {
        let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    config.kubernetes.io/path: a.yaml\n    internal.config.kubernetes.io/path: a.yaml\n    internal.config.kubernetes.io/id: '7'\n";
        let item = Resource::parse(text).unwrap();
        let mut list = ResourceList { items: vec![item], ..ResourceList::default() };
        let noted = note(&mut list);
        // What an evaluator with a process does.
        for key in ON_THE_WAY {
            list.items[0].remove_annotation(key).unwrap();
        }
        let mut moved = list.clone();
        noted.put_back(&mut list).unwrap();
        let value =
            |list: &ResourceList, key: &str| list.items[0].annotation(key).map(std::borrow::Cow::into_owned);
        assert_eq!(value(&list, annotation::PATH).as_deref(), Some("a.yaml"));
        assert_eq!(value(&list, annotation::LEGACY_PATH).as_deref(), Some("a.yaml"));
        assert_eq!(value(&list, annotation::ID).as_deref(), Some("7"));
        moved.items[0].set_annotation(annotation::PATH, "b.yaml").unwrap();
        noted.put_back(&mut moved).unwrap();
        assert_eq!(value(&moved, annotation::PATH).as_deref(), Some("b.yaml"));
        assert_eq!(value(&moved, annotation::LEGACY_PATH).as_deref(), Some("b.yaml"));
    }
}
