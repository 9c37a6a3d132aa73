//! Files of others: what goes out as a list and comes back unchanged leaves them as they are.

use std::fs;

use lanai_krm::ResourceList;
use lanai_krm::package::{File, Package, Placed, ReadOptions};
use lanai_krm::resource::Location;
use lanai_types::Limits;

use super::path;

#[test]
fn a_trip_through_a_list_leaves_the_files_of_others_alone() {
    let Some(corpus) = lanai_testkit::corpus("manifests") else {
        lanai_testkit::skip("package::corpus", "the corpus \"manifests\" is not here");
        return;
    };
    let (mut open, mut trips, mut changed) = (vec![corpus], 0, Vec::new());
    while let Some(at) = open.pop() {
        if at.is_dir() {
            open.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let mut package = Package::new(Limits::DEFAULT);
        package.insert(path("x.yaml"), File::regular(fs::read(&at).unwrap())).unwrap();
        let Ok(resources) = package.resources(ReadOptions::default()) else { continue };
        let before = package.clone();
        let list = ResourceList {
            items: resources
                .into_iter()
                .map(|located| {
                    let mut resource = located.resource;
                    let location = Location { path: located.path.to_string(), index: located.index };
                    resource.set_location(&location).unwrap();
                    resource
                })
                .collect(),
            ..ResourceList::default()
        };
        let back = ResourceList::parse(&list.to_string()).unwrap();
        let placed = back.items.into_iter().map(|item| Placed::from_annotations(item).unwrap());
        package.write_resources(placed, ReadOptions::default()).unwrap();
        trips += 1;
        if package != before {
            changed.push(at);
        }
    }
    assert!(trips > 500, "{trips} files");
    assert!(changed.is_empty(), "{} of {trips} files changed: {changed:#?}", changed.len());
}
