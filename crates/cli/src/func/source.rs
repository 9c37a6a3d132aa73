//! `lanai fn source`: prints the resources of a folder.

use lanai_krm::package::{Folder, OtherYaml, ReadOptions};
use lanai_krm::resource::Origin;
use lanai_krm::{Resource, ResourceList};
use lanai_types::quote::Quoted;

use super::args::Source;
use super::eval;
use super::output::{self, Output};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::pkg::ignored;
use crate::pkg::local::Purpose;

pub(super) fn run(source: &Source, persona: Persona, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let output = match source.output.as_str() {
        "stdout" => Output::List,
        "unwrap" => Output::Plain,
        other => {
            return Err(Failure::of(
                Code::Usage,
                format!(
                    "invalid input for --output flag {}, must be \"stdout\" or \"unwrap\"",
                    Quoted(other)
                ),
            ));
        }
    };
    let package = eval::open(&source.folder, Purpose::Look, io)?.package;
    ignored::warn(&package, persona.dialect(), io);
    let options = ReadOptions { other_yaml: OtherYaml::Included, ignore: persona.dialect() };
    let located = package.resources(options).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    let items: Vec<Resource> = located
        .into_iter()
        .map(|located| {
            let mut resource = located.resource;
            let (path, index) = (located.path, Some(located.index));
            resource.set_origin(Some(Origin { package: Folder::Root, path, index, serial: None }));
            resource
        })
        .collect();
    let config = source.fn_config.as_deref().map(|file| eval::config_file(file, io)).transpose()?;
    match (config, &output) {
        (Some(config), Output::List) => {
            let items = items.iter().map(output::located).collect::<Result<Vec<_>, _>>()?;
            let list = ResourceList { items, function_config: Some(config), ..ResourceList::default() };
            io.print(&list.to_string())?;
        }
        _ => output.put(&items, io)?,
    }
    Ok(Exit::Success)
}
