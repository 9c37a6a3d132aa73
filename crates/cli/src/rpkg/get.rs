//! `lanai rpkg get`: which revisions there are.

use super::args::Get;
use super::server::Server;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::listing::Listing;

/// The number that says that no number was asked for.
const ANY: i64 = -2;

pub(super) fn run(get: &Get, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if get.show_kptfile {
        return kptfile(get, server, io);
    }
    let mut fields = Vec::new();
    let mut field = |name: &'static str, value: &Option<String>| {
        fields.extend(value.clone().filter(|value| !value.is_empty()).map(|value| (name, value)));
    };
    field("spec.packageName", &get.name);
    field("spec.workspaceName", &get.workspace);
    field("spec.repository", &get.repository);
    field("spec.lifecycle", &get.lifecycle);
    if get.revision != ANY {
        fields.push(("spec.revision", get.revision.to_string()));
    }
    let listing = Listing {
        resource: server.version.revisions(),
        names: &get.names,
        print: &get.print,
        fields,
        persona: server.persona,
    };
    listing.run(&server.client, io)
}

fn kptfile(get: &Get, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let [name] = get.names.as_slice() else {
        return Err(Failure::of(
            Code::Usage,
            "--show-kptfile requires exactly one package revision name as an argument",
        )
        .bare());
    };
    let resources = server.resources(name, io)?;
    match resources["spec"]["resources"]["Kptfile"].as_str() {
        Some(text) => io.print(text)?,
        None => {
            return Err(Failure::of(
                Code::NoPackage,
                format!("Kptfile not found in package revision {name}"),
            ));
        }
    }
    Ok(Exit::Success)
}
