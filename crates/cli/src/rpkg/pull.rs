//! `lanai rpkg pull`: the files of a revision, in a folder or as a list.

use lanai_krm::package::{OtherYaml, ReadOptions};
use lanai_krm::resource::annotation;
use lanai_krm::{Package, Resource, ResourceList};

use super::args::Pull;
use super::create::given;
use super::files;
use super::server::Server;
use crate::failure::{Code, Failure};
use crate::func;
use crate::io::{Exit, Io};

pub(super) fn run(pull: &Pull, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let name = given(pull.package.as_deref(), "PACKAGE is a required positional argument")?;
    let folder = pull.folder.as_deref().map(|folder| func::new_folder(folder, io)).transpose()?;
    let parting = io.stop.parting("stopped: nothing was written");
    let resources = server.resources(name, io)?;
    drop(parting);
    let package = files::package(&resources)?;
    let metadata = files::metadata(&resources)?;
    match folder {
        Some(folder) => files::create(&folder, &package, &metadata)?,
        None => io.print(&list(&package, &metadata)?)?,
    }
    Ok(Exit::Success)
}

/// The resources as a list, each with where it stands.
fn list(package: &Package, metadata: &str) -> Result<String, Failure> {
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    let found = package.resources(options).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    let first = Resource::parse(metadata).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    let mut items = vec![at(first, files::METADATA, 0)?];
    for located in found {
        items.push(at(located.resource, located.path.as_str(), located.index)?);
    }
    Ok(ResourceList { items, ..ResourceList::default() }.to_string())
}

fn at(mut resource: Resource, path: &str, index: usize) -> Result<Resource, Failure> {
    let index = index.to_string();
    let annotations = [
        (annotation::LEGACY_INDEX, index.as_str()),
        (annotation::INDEX, &index),
        (annotation::PATH, path),
        (annotation::LEGACY_PATH, path),
    ];
    for (key, value) in annotations {
        resource.set_annotation(key, value).map_err(|error| {
            Failure::of(
                Code::Text,
                format!("the annotations of {} cannot be written: {error}", resource.id()),
            )
        })?;
    }
    Ok(resource)
}
