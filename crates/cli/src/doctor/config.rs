//! The kubeconfig.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report::Check;
use super::server::Place;
use crate::client::Connection;
use crate::failure::cause;
use crate::io::Io;
use crate::places;

const NAME: &str = "kubeconfig";

/// The kubeconfig, and what it leads to.
pub(super) struct Found {
    pub check: Check,
    pub place: Place,
}

/// Whether there is one, and whether it says which server is meant.
pub(super) fn checks(connection: &Connection, data: Option<&Path>, io: &Io<'_>) -> Found {
    let mend = "export KUBECONFIG with the file that lanai serve names when it starts";
    let ours = data.map(|data| data.join(NAME));
    let files = files(connection, ours.as_deref(), io);
    let Some(first) = files.first() else {
        return Found { check: Check::warning(NAME, "there is none", mend), place: Place::Nowhere };
    };
    let shown = first.display();
    let check = match read(first) {
        Err(why) => Check::problem(NAME, format!("{shown}: {why}"), "mend or remove the file"),
        Ok(config) => match server(&config, connection.context.as_deref()) {
            Ok(server) => Check::ok(NAME, format!("{shown} names {server}")),
            Err(why) => Check::problem(NAME, format!("{shown}: {why}"), "kubectl config use-context NAME"),
        },
    };
    let is_ours = Some(first.as_path()) == ours.as_deref() && connection.server.is_none();
    Found { check, place: if is_ours { Place::Local } else { Place::Named } }
}

/// The files in the order in which they count, as far as they are there.
fn files(connection: &Connection, ours: Option<&Path>, io: &Io<'_>) -> Vec<PathBuf> {
    if let Some(given) = &connection.kubeconfig {
        return vec![io.folder.join(given)];
    }
    let ours = ours.filter(|path| path.exists()).map(Path::to_owned);
    if connection.data_dir.is_some() {
        return ours.into_iter().collect();
    }
    let named = places::variable("KUBECONFIG", io).map(|list| {
        let list: Vec<PathBuf> =
            std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
        // As kubectl does: those that are not there are left out, unless none is.
        let there: Vec<PathBuf> = list.iter().filter(|path| path.exists()).cloned().collect();
        if there.is_empty() { list } else { there }
    });
    if let Some(named) = named {
        return named;
    }
    let usual = places::variable("HOME", io).map(|home| home.join(".kube/config"));
    usual.filter(|path| path.exists()).into_iter().chain(ours).collect()
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| cause(&error))?;
    let document = lanai_yaml::Document::parse(text.as_str()).map_err(|error| error.to_string())?;
    document.root().deserialize().map_err(|error| error.to_string())
}

/// The server of the context that is chosen, by name or by the file.
fn server(config: &Value, chosen: Option<&str>) -> Result<String, String> {
    let find = |list: &str, name: &str| {
        let items = config[list].as_array().into_iter().flatten();
        items.clone().find(|item| item["name"] == name).cloned()
    };
    let current = chosen.or(config["current-context"].as_str()).unwrap_or_default();
    if current.is_empty() {
        return Err("no context is chosen".to_owned());
    }
    let context = find("contexts", current).ok_or_else(|| format!("there is no context \"{current}\""))?;
    let name = |field: &str| context["context"][field].as_str().unwrap_or_default().to_owned();
    let (cluster, user) = (name("cluster"), name("user"));
    if !user.is_empty() && find("users", &user).is_none() {
        return Err(format!("there is no user \"{user}\", whom the context \"{current}\" names"));
    }
    let found = find("clusters", &cluster)
        .ok_or_else(|| format!("there is no cluster \"{cluster}\", which the context \"{current}\" names"))?;
    let server = found["cluster"]["server"].as_str().filter(|server| !server.is_empty());
    server.map(str::to_owned).ok_or_else(|| format!("the cluster \"{cluster}\" has no server"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(change: impl FnOnce(&mut Value), expected: Result<&str, &str>) {
        let mut config = json!({
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {}}],
        });
        change(&mut config);
        assert_eq!(server(&config, None).as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn each_name_leads_to_something() {
        check(|_| {}, Ok("https://127.0.0.1:1"));
        check(|config| config["current-context"] = json!(""), Err("no context is chosen"));
        check(|config| config["current-context"] = json!("b"), Err("there is no context \"b\""));
        check(
            |config| config["users"] = json!([]),
            Err("there is no user \"u\", whom the context \"a\" names"),
        );
        check(
            |config| config["clusters"] = json!([]),
            Err("there is no cluster \"c\", which the context \"a\" names"),
        );
        check(|config| config["clusters"][0]["cluster"] = json!({}), Err("the cluster \"c\" has no server"));
    }
}
