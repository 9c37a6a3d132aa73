//! From charts to resources.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lanai_evaluate::{Error, Network, Response};
use lanai_krm::{Resource, ResourceId, ResourceList};
use lanai_types::quote::Quoted;
use lanai_yaml::NodeRef;

use super::charts::{Chart, SecretName, Template, ValuesMerge};
use super::session::{Call, Session, Setup, failed};
use crate::job::Watch;

/// The name of a repository, for as long as a session lasts.
const REPOSITORY: &str = "charts";

/// Renders charts, and adds what is not there yet.
pub(super) fn all(
    setup: &Setup,
    watch: &Watch,
    list: ResourceList,
    charts: &[Chart],
) -> Result<Response, Error> {
    let mut list = ResourceList { results: Vec::new(), ..list };
    let mut stderr = String::new();
    let mut there: HashSet<ResourceId> = list.items.iter().map(object).collect();
    for chart in charts {
        let login = login(chart.auth.as_ref(), &list.items)
            .map_err(|why| failed(&format!("failed to run function: {why}"), &stderr))?;
        let mut session = Session::new(setup, watch, chart.config_home.as_deref())?;
        for made in one(&mut session, chart, login.as_ref())? {
            if there.insert(object(&made)) {
                list.items.push(made);
            }
        }
        stderr.push_str(&session.stderr);
    }
    Ok(Response { list, stderr, evaluator: "helm", exit_code: 0 })
}

/// Which object of a cluster a resource is, whatever its version.
fn object(resource: &Resource) -> ResourceId {
    ResourceId { version: String::new(), ..resource.id() }
}

/// Who is at the door of a repository.
struct Login {
    user: String,
    password: String,
}

fn login(auth: Option<&SecretName>, items: &[Resource]) -> Result<Option<Login>, String> {
    let Some(auth) = auth else { return Ok(None) };
    let is_it = |item: &&Resource| {
        let id = item.id();
        let namespace = if id.namespace.is_empty() { "default" } else { &id.namespace };
        id.kind == "Secret" && id.name == auth.name && namespace == auth.namespace
    };
    let secret = items.iter().rev().find(is_it).ok_or_else(|| {
        format!(
            "could not find Secret {} identified by auth",
            Quoted(&format!("{}/{}", auth.namespace, auth.name))
        )
    })?;
    let value = |key: &str| {
        let data = secret.root().get("data").and_then(|data| data.get(key));
        let text = data.and_then(NodeRef::as_str).unwrap_or_default();
        let bytes = STANDARD.decode(text.trim()).unwrap_or_default();
        let decoded = String::from_utf8(bytes).ok().filter(|text| !text.is_empty());
        decoded.ok_or_else(|| format!("could not find {key} in Secret {}", auth.name))
    };
    Ok(Some(Login { user: value("username")?, password: value("password")? }))
}

/// The resources of a chart.
fn one(session: &mut Session<'_>, chart: &Chart, login: Option<&Login>) -> Result<Vec<Resource>, Error> {
    let here = session.locate(&format!("{}/{}", chart.home, chart.name)).filter(|folder| folder.is_dir());
    let folder = match here {
        Some(folder) => folder,
        None => fetch(session, chart, login)?,
    };
    let values = values(session, chart, &folder)?;
    let remote = values.iter().any(|file| is_remote(file));
    let mut options = template_options(&chart.template);
    options.extend(values.into_iter().map(|file| format!("--values={}", csv(&file))));
    let release = chart.template.release.clone();
    let rendered = session.call(&Call {
        verb: vec!["template"],
        options,
        arguments: release.into_iter().chain([folder.to_string_lossy().into_owned()]).collect(),
        input: String::new(),
        network: if remote { Network::Host } else { Network::None },
    })?;
    Resource::parse_stream(&rendered)
        .map_err(|cause| session.generator(&format!("what helm wrote are no resources: {cause}")))
}

fn template_options(template: &Template) -> Vec<String> {
    let mut options = Vec::new();
    let texts = [
        ("namespace", &template.namespace),
        ("name-template", &template.name_from),
        ("description", &template.description),
    ];
    for (name, value) in texts {
        options.extend(value.iter().map(|value| format!("--{name}={value}")));
    }
    options.extend(template.api_versions.iter().map(|version| format!("--api-versions={}", csv(version))));
    if template.release.is_none() {
        options.push("--generate-name".into());
    }
    if template.include_crds {
        options.push("--include-crds".into());
    }
    if template.skip_tests {
        options.push("--skip-tests".into());
    }
    options
}

/// Fetches a chart; the folder that it is in then.
fn fetch(session: &mut Session<'_>, chart: &Chart, login: Option<&Login>) -> Result<PathBuf, Error> {
    let name = &chart.name;
    let Some(repo) = &chart.repo else {
        let why = format!(
            "there is no chart \"{name}\" in \"{}\", and no `repo` to fetch it from; mount the folder of charts there",
            chart.home
        );
        return Err(session.generator(&why));
    };
    session.need_network(&format!("the chart \"{name}\" is fetched from \"{repo}\""))?;
    let is_registry = repo.starts_with("oci://");
    let source = if is_registry {
        if let Some(login) = login {
            let registry = chart.registry.clone().unwrap_or_else(|| repo.clone());
            session.call(&with_password(&["registry", "login"], vec![registry], login))?;
        }
        format!("{}/{name}", repo.trim_end_matches('/'))
    } else {
        let arguments = vec![REPOSITORY.into(), repo.clone()];
        let add = match login {
            Some(login) => with_password(&["repo", "add"], arguments, login),
            None => Call {
                verb: vec!["repo", "add"],
                options: Vec::new(),
                arguments,
                input: String::new(),
                network: Network::Host,
            },
        };
        session.call(&add)?;
        format!("{REPOSITORY}/{name}")
    };
    let target = session.at("charts");
    let mut options = vec!["--untar".into(), format!("--untardir={}", target.display())];
    options.extend(chart.version.iter().map(|version| format!("--version={version}")));
    session.call(&Call {
        verb: vec!["pull"],
        options,
        arguments: vec![source],
        input: String::new(),
        network: Network::Host,
    })?;
    let fetched = only_folder(&target).map_err(|cause| session.generator(&cause.to_string()))?;
    fetched.ok_or_else(|| session.generator(&format!("helm did not unpack the chart \"{name}\"")))
}

/// A call that reads a password.
fn with_password(verb: &[&'static str], arguments: Vec<String>, login: &Login) -> Call {
    Call {
        verb: verb.to_vec(),
        options: vec![format!("--username={}", login.user), "--password-stdin".into()],
        arguments,
        input: login.password.clone(),
        network: Network::Host,
    }
}

/// The folder in a folder, if it is the only one.
fn only_folder(folder: &PathBuf) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && found.replace(path).is_some() {
            return Ok(None);
        }
    }
    Ok(found)
}

/// The files of values for helm, the weakest first.
fn values(session: &Session<'_>, chart: &Chart, folder: &std::path::Path) -> Result<Vec<String>, Error> {
    let mut files = Vec::new();
    for file in &chart.values_files {
        if is_remote(file) {
            session.need_network(&format!("the values \"{file}\" are fetched"))?;
            files.push(file.clone());
            continue;
        }
        let found = session.locate(file).filter(|path| path.is_file()).ok_or_else(|| {
            let why = format!(
                "could not read provided values file {}: there is no such file in the mounts",
                Quoted(file)
            );
            session.generator(&why)
        })?;
        files.push(found.to_string_lossy().into_owned());
    }
    let inline = match &chart.values_inline {
        Some(values) => {
            let file = session.at("values.json");
            fs::write(&file, values)
                .map_err(|cause| Error::Infrastructure(format!("cannot write values for helm: {cause}")))?;
            vec![file.to_string_lossy().into_owned()]
        }
        None => Vec::new(),
    };
    Ok(match chart.values_merge {
        ValuesMerge::Replace => inline,
        ValuesMerge::Override => files.into_iter().rev().chain(inline).collect(),
        ValuesMerge::Merge => {
            // Without files, the chart's own values are the file.
            let own = folder.join("values.yaml");
            if files.is_empty() && own.is_file() {
                files.push(own.to_string_lossy().into_owned());
            }
            inline.into_iter().chain(files).collect()
        }
    })
}

/// A text that helm takes for one, although it splits at commas.
fn csv(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

fn is_remote(file: &str) -> bool {
    file.starts_with("https://") || file.starts_with("http://")
}
