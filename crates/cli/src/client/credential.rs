//! Programs that know who we are.

use std::time::Duration;

use lanai_process::{Command, Limits};
use lanai_types::ByteSize;
use lanai_types::quote::Quoted;
use serde::Deserialize;
use serde_json::json;

use super::kubeconfig::Exec;
use crate::failure::{Code, Failure};
use crate::io::Io;

/// How long such a program may take: some ask people in a browser.
const MAX_TIME: Duration = Duration::from_mins(2);
/// What it may answer.
const MAX_ANSWER: ByteSize = ByteSize::mib(1);

/// What such a program answers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Credential {
    pub token: Option<String>,
    pub client_certificate_data: Option<String>,
    pub client_key_data: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    status: Option<Credential>,
}

/// Asks the program.
///
/// # Errors
/// When it is not there, fails, or answers something else.
pub(super) fn ask(exec: &Exec, io: &Io<'_>) -> Result<Credential, Failure> {
    let shown = Quoted(&exec.command).to_string();
    let refused = |why: String| {
        let failure = Failure::of(
            Code::Unauthorized,
            format!("the program {shown}, which the kubeconfig names: {why}"),
        );
        match &exec.install_hint {
            Some(hint) => failure.hint(hint.clone()),
            None => failure,
        }
    };
    if exec.interactive_mode.as_deref() == Some("Always") {
        return Err(refused("it wants to talk to somebody, and that is not possible here".into()));
    }
    if exec.provide_cluster_info == Some(true) {
        return Err(refused("it wants to be told about the cluster, and that is not possible here".into()));
    }
    let version = exec.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1");
    let info = json!({"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": false}});
    let mut command = Command::new(exec.command.as_str())
        .variables(io.environment.iter())
        .variable("KUBERNETES_EXEC_INFO", info.to_string());
    for variable in exec.env.iter().flatten() {
        command = command.variable(variable.name.as_str(), variable.value.as_str());
    }
    for argument in exec.args.iter().flatten() {
        command = command.argument(argument.as_str());
    }
    let limits = Limits { max_time: MAX_TIME, max_output: MAX_ANSWER, ..Limits::DEFAULT };
    let finished = command.run(&[], &limits, |_| ()).map_err(|error| refused(error.to_string()))?;
    if !finished.status.is_success() {
        return Err(refused(format!("{}: {}", finished.status, finished.messages.trim())));
    }
    let answer: Answer = serde_json::from_slice(&finished.output)
        .map_err(|error| refused(format!("it answered no ExecCredential: {error}")))?;
    answer.status.ok_or_else(|| refused("its answer has no status".into()))
}
