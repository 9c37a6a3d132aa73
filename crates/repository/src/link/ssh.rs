//! Over ssh: a program of the user's choice carries the conversation.

use std::path::Path;
use std::sync::Arc;

use gix_transport::client::blocking_io::Transport;
use gix_transport::client::git::ConnectMode;
use gix_transport::client::git::blocking_io::Connection as GitConnection;
use gix_transport::{Protocol, Service};
use lanai_process::{Command, Connection, Limits as ProcessLimits, Status};

use super::Opening;
use super::meter::{Meter, Metered};
use crate::config::Config;
use crate::credential::MAX_THOUGHT;
use crate::secret::KeyFiles;
use crate::url::Ssh;
use crate::{Cancel, Error, Limits, RemoteUrl};

/// How options are given to the program.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    OpenSsh,
    /// Takes `-P` for the port (putty's plink).
    Plink,
    /// Takes nothing but host and command.
    Simple,
}

/// The program on the other side of a service.
fn service_name(service: Service) -> &'static str {
    match service {
        Service::UploadPack => "git-upload-pack",
        Service::ReceivePack => "git-receive-pack",
    }
}

/// Starts git's own side for a repository on this machine.
pub(super) fn local(
    opening: &Opening<'_>,
    path: &Path,
    meter: &Arc<Meter>,
) -> Result<(Box<dyn Transport + Send>, Connection), Error> {
    let Opening { config, limits, remote, service, .. } = *opening;
    let command = Command::new(service_name(service)).variables(config.environment_of_programs());
    let command = command.variable("GIT_PROTOCOL", "version=2").argument(path.as_os_str());
    converse(&command, limits, remote, meter, &path.to_string_lossy())
}

fn converse(
    command: &Command,
    limits: &Limits,
    remote: &RemoteUrl,
    meter: &Arc<Meter>,
    path: &str,
) -> Result<(Box<dyn Transport + Send>, Connection), Error> {
    let unreachable = |cause: String| Error::Unreachable { remote: remote.clone(), cause };
    let process_limits = ProcessLimits { max_time: limits.max_silence, ..ProcessLimits::DEFAULT };
    let mut connection = command.connect(&process_limits).map_err(|cause| unreachable(cause.to_string()))?;
    let (input, output) =
        connection.take_ends().ok_or_else(|| unreachable("the program has no pipes".to_owned()))?;
    let output = Metered { inner: output, meter: Arc::clone(meter) };
    let nobody = None::<(&str, Option<u16>)>;
    let transport =
        GitConnection::new(output, input, Protocol::V2, path, nobody, ConnectMode::Process, false);
    Ok((Box::new(transport), connection))
}

/// A transport, the program that carries it, and its key.
type Connected = (Box<dyn Transport + Send>, Connection, Option<KeyFiles>);

/// Starts ssh, as `GIT_SSH_COMMAND`, `core.sshCommand` or `GIT_SSH` want it.
pub(super) fn connect(opening: &Opening<'_>, url: &Ssh, meter: &Arc<Meter>) -> Result<Connected, Error> {
    let Opening { config, limits, remote, service, access, cancel } = *opening;
    let unreachable = |cause: String| Error::Unreachable { remote: remote.clone(), cause };
    let host = match &url.user {
        Some(user) => format!("{user}@{}", url.host),
        None => url.host.clone(),
    };
    let program = program(config);
    let variant = variant(config, &program, &host, cancel);
    // Who talks for somebody else has a key, or none; the person at the terminal is not asked for that one's.
    let asks = config.person().is_some() && access.asks_helpers();
    let mut command = program.command(config).variable("GIT_PROTOCOL", "version=2");
    if asks {
        command = command.at_terminal();
    }
    if variant == Variant::OpenSsh {
        let seconds = limits.max_connect.as_secs().max(1);
        command = command.argument("-o").argument("SendEnv=GIT_PROTOCOL");
        if !asks {
            command = command.argument("-o").argument("BatchMode=yes");
        }
        command = command.argument("-o").argument(format!("ConnectTimeout={seconds}"));
    }
    if let Some(port) = url.port {
        let option = match variant {
            Variant::OpenSsh => "-p",
            Variant::Plink => "-P",
            Variant::Simple => {
                return Err(unreachable(format!(
                    "the ssh command \"{}\" takes no port\nhint: set ssh.variant to ssh if it is OpenSSH after all",
                    program.line
                )));
            }
        };
        command = command.argument(option).argument(port.to_string());
    }
    let key = access.key_files().map_err(|cause| unreachable(format!("its key cannot be used: {cause}")))?;
    if !access.asks_helpers() && variant == Variant::OpenSsh {
        // What the user of the process could prove is not the caller's.
        for option in ["IdentityAgent=none", "IdentitiesOnly=yes"] {
            command = command.argument("-o").argument(option);
        }
        if key.is_none() {
            command = command.argument("-o").argument("IdentityFile=none");
        }
        command = command.argument("-F").argument("none");
    }
    if let Some(files) = &key {
        if variant != Variant::OpenSsh {
            return Err(unreachable("a key of a credential needs OpenSSH".to_owned()));
        }
        command = command.argument("-i").argument(files.key());
        if let Some(known_hosts) = files.known_hosts() {
            command = command.argument("-o").argument(format!("UserKnownHostsFile={known_hosts}"));
        }
    }
    let command = command.argument(host).argument(format!("{} {}", service_name(service), quoted(&url.path)));
    let max_silence = if asks { limits.max_silence.max(MAX_THOUGHT) } else { limits.max_silence };
    let limits = Limits { max_silence, ..*limits };
    let (transport, connection) = converse(&command, &limits, remote, meter, &url.path)?;
    Ok((transport, connection, key))
}

/// Says why a conversation failed, by what the program said at its end.
pub(super) fn explain(program: Connection, remote: &RemoteUrl, cause: String) -> Error {
    let killer = program.killer();
    let messages = program.messages();
    // The pipes are closed, so it ends; if it does not, it is killed by the limit on its time.
    let status = program.finish();
    killer.kill();
    // Warnings of ssh stand in frames.
    let said = messages.lines().map(|line| line.trim().trim_matches('@').trim());
    let said: Vec<_> = said.filter(|line| !line.is_empty()).collect();
    let said = said.join("; ").replace(char::is_control, " ");
    let remote = remote.clone();
    let text = if said.is_empty() { cause.clone() } else { said.clone() };
    if said.contains("not appear to be a git repository") || said.contains("not a git repository") {
        return Error::NotARepository { remote, cause: said };
    }
    if said.contains("Host key verification failed") {
        return Error::HostKey { remote, cause: said };
    }
    if said.contains("Permission denied") || said.contains("Too many authentication failures") {
        return Error::Credentials { remote, cause: said };
    }
    match status {
        // What ssh itself says when there is no connection.
        Ok(Status::Exited(255)) | Err(_) => Error::Unreachable { remote, cause: text },
        Ok(Status::Exited(_) | Status::Killed(_)) => {
            let cause = if said.is_empty() { cause } else { format!("{cause}: {said}") };
            Error::Protocol { remote, cause }
        }
    }
}

/// The program that the user wants for ssh.
struct Program {
    line: String,
    is_shell_line: bool,
}

impl Program {
    fn command(&self, config: &Config) -> Command {
        let command = if self.is_shell_line { Command::shell(&self.line) } else { Command::new(&self.line) };
        command.variables(config.environment_of_programs())
    }
}

fn program(config: &Config) -> Program {
    let line = config.text_variable("GIT_SSH_COMMAND");
    if let Some(line) = line.or_else(|| config.value("core", "sshcommand").map(str::to_owned)) {
        return Program { line, is_shell_line: true };
    }
    let line = config.text_variable("GIT_SSH").unwrap_or_else(|| "ssh".to_owned());
    Program { line, is_shell_line: false }
}

/// By the setting, or else by the name of the program, or else by whether it answers `-G` as OpenSSH does.
fn variant(config: &Config, program: &Program, host: &str, cancel: &Cancel) -> Variant {
    let setting = config.text_variable("GIT_SSH_VARIANT");
    let setting = setting.or_else(|| config.value("ssh", "variant").map(str::to_owned));
    match setting.as_deref() {
        Some("ssh") => return Variant::OpenSsh,
        Some("plink" | "putty" | "tortoiseplink") => return Variant::Plink,
        Some("simple") => return Variant::Simple,
        _ => {}
    }
    let word = if program.is_shell_line {
        program.line.split_whitespace().next().unwrap_or_default()
    } else {
        &program.line
    };
    let name = Path::new(word).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    match name.as_str() {
        "ssh" => return Variant::OpenSsh,
        "plink" | "tortoiseplink" => return Variant::Plink,
        _ => {}
    }
    let question = program.command(config).argument("-G").argument(host);
    let mut hook = None;
    let answer = question.run(b"", &ProcessLimits::DEFAULT, |killer| {
        hook = Some(cancel.on_cancel(move || killer.kill()));
    });
    drop(hook);
    let is_openssh = answer.is_ok_and(|answer| answer.status.is_success());
    if is_openssh { Variant::OpenSsh } else { Variant::Simple }
}

/// The path as one word of the shell on the other side.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''").replace('!', "'\\!'"))
}
