//! What functions may do, as flags spell it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lanai_evaluate::{Grants, Mount, MountAccess, Network, User, Variable};
use lanai_types::quote::Quoted;

use super::args::Common;
use crate::failure::{Code, Failure, cause};
use crate::io::Io;
use crate::pkg::local;

/// All that the flags grant.
///
/// # Errors
/// A flag that cannot be read, and a mount of what is not there.
pub(super) fn of(common: &Common, io: &Io<'_>) -> Result<Grants, Failure> {
    Ok(Grants {
        network: if common.allow_network { Network::Host } else { Network::None },
        variables: variables(&common.env, io)?,
        mounts: common.mount.iter().map(|flag| mount(flag, io)).collect::<Result<_, _>>()?,
        programs: common.allow_program.clone(),
        user: if common.as_current_user { User::Caller } else { User::Nobody },
    })
}

/// Whether a flag is used that kpt has for containers only.
pub(super) fn are_for_containers(common: &Common) -> bool {
    common.allow_network || common.as_current_user || !common.mount.is_empty() || !common.env.is_empty()
}

/// The variables that a function gets. One without a value has the caller's.
pub(super) fn variables(flags: &[String], io: &Io<'_>) -> Result<Vec<Variable>, Failure> {
    let mut variables = Vec::new();
    for flag in flags {
        let callers =
            || io.environment.get(OsStr::new(flag)).map(|value| value.to_string_lossy().into_owned());
        let given = flag.split_once('=').map(|(name, value)| (name, Some(value.to_owned())));
        let (name, value) = given.unwrap_or_else(|| (flag.as_str(), callers()));
        if name.is_empty() {
            return Err(Failure::of(
                Code::FunctionSetup,
                format!("--env {}: a variable has a name", Quoted(flag)),
            ));
        }
        variables.extend(value.map(|value| Variable { name: name.to_owned(), value }));
    }
    Ok(variables)
}

/// What a flag says about a file or folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Spelled<'f> {
    source: &'f str,
    target: Option<&'f str>,
    access: MountAccess,
}

/// Reads the flag; the names of its parts are kpt's.
fn spelled(flag: &str) -> Result<Spelled<'_>, String> {
    let mut spelled = Spelled::default();
    for part in flag.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match (name, value) {
            ("type", "bind") | ("rw", "false") => {}
            ("type", other) => return Err(format!("the type is bind, {} is not known", Quoted(other))),
            ("rw", "true") => spelled.access = MountAccess::ReadWrite,
            ("src" | "source", path) if !path.is_empty() => spelled.source = path,
            ("dst" | "destination" | "target", path) if !path.is_empty() => spelled.target = Some(path),
            (_, _) => {
                return Err(format!(
                    "{} is none of type=bind, src=PATH, dst=PATH, rw=true and rw=false",
                    Quoted(part)
                ));
            }
        }
    }
    if spelled.source.is_empty() {
        return Err("src=PATH says what is to be seen".to_owned());
    }
    Ok(spelled)
}

fn mount(flag: &str, io: &Io<'_>) -> Result<Mount, Failure> {
    let wrong = |why: &str| Failure::of(Code::FunctionSetup, format!("--mount {}: {why}", Quoted(flag)));
    let spelled = spelled(flag).map_err(|why| wrong(&why))?;
    let source = lanai_runner::without_detours(&local::absolute(Path::new(spelled.source), io)?);
    source
        .metadata()
        .map_err(|error| wrong(&format!("{}: {}", Quoted(&source.display().to_string()), cause(&error))))?;
    let target = match spelled.target {
        None => source.clone(),
        Some(target) if target.starts_with('/') => PathBuf::from(target),
        Some(target) => {
            return Err(wrong(&format!("dst is where functions see it, from the root: {}", Quoted(target))));
        }
    };
    Ok(Mount { source, target, access: spelled.access })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_spelled_as_for_kpt() {
        let read = Spelled { source: "a", ..Spelled::default() };
        assert_eq!(spelled("src=a"), Ok(read));
        let whole = Spelled { source: "a", target: Some("/b"), access: MountAccess::ReadWrite };
        assert_eq!(spelled("type=bind,source=a,target=/b,rw=true"), Ok(whole));
        for (flag, why) in [
            ("", "is none of"),
            ("dst=/a", "src=PATH says"),
            ("type=tmpfs,src=a", "the type is bind"),
            ("src=a,rw=yes", "\"rw=yes\" is none of"),
            ("src=a,ro", "\"ro\" is none of"),
            ("src=,dst=/a", "\"src=\" is none of"),
        ] {
            let error = spelled(flag).unwrap_err();
            assert!(error.contains(why), "{flag}: {error}");
        }
    }
}
