//! Which image a name means.

use lanai_evaluate::Error;
use lanai_types::Sha256Digest;
use lanai_types::quote::Quoted;

use super::ContainerOptions;
use super::control::Control;
use super::engine::{ContainerEngine, MAX_STEP, said, step};

/// When images are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pull {
    /// Before each call.
    Always,
    /// When they are not on this machine.
    #[default]
    IfNotPresent,
    /// Never; those that are not on this machine do not run.
    Never,
}

/// An image of this machine.
pub(super) struct Resolved {
    /// The name that means this image and no other.
    pub id: String,
    /// The same as a digest. All engines that are known name images by it.
    pub digest: Option<Sha256Digest>,
}

/// Finds the image that a name means, and fetches it if the policy says so.
pub(super) fn resolve(
    engine: &ContainerEngine,
    image: &str,
    options: &ContainerOptions,
    control: &Control,
) -> Result<Resolved, Error> {
    match options.pull {
        Pull::Always => fetch(engine, image, options, control)?,
        Pull::IfNotPresent | Pull::Never => {
            if let Some(found) = look_up(engine, image, control)? {
                return Ok(found);
            }
            if options.pull == Pull::Never {
                return Err(cannot(image, "it is not on this machine, and images are not fetched here"));
            }
            fetch(engine, image, options, control)?;
        }
    }
    let found = look_up(engine, image, control)?;
    found.ok_or_else(|| cannot(image, "it was fetched, and is not there"))
}

fn cannot(image: &str, why: &str) -> Error {
    Error::Infrastructure(format!("cannot run the image {}: {why}", Quoted(image)))
}

fn look_up(engine: &ContainerEngine, image: &str, control: &Control) -> Result<Option<Resolved>, Error> {
    let command = engine.command(&["image", "inspect", "--format", "{{.Id}}", image]);
    let finished =
        control.run(&command, &[], &step(MAX_STEP))?.map_err(|cause| cannot(image, &cause.to_string()))?;
    if !finished.status.is_success() {
        let words = finished.messages.to_lowercase();
        // The words of podman (two versions), docker and nerdctl.
        let is_absent = ["no such image", "image not known", "no such object", "failed to find image"];
        if is_absent.iter().any(|absent| words.contains(absent)) {
            return Ok(None);
        }
        return Err(cannot(image, &format!("{engine} says: {}", said(&finished))));
    }
    let text = String::from_utf8_lossy(&finished.output);
    let id = text.lines().next().unwrap_or_default().trim();
    if id.is_empty() {
        return Ok(None);
    }
    let digest = id.strip_prefix("sha256:").unwrap_or(id);
    Ok(Some(Resolved { id: id.to_owned(), digest: Sha256Digest::from_hex(digest).ok() }))
}

fn fetch(
    engine: &ContainerEngine,
    image: &str,
    options: &ContainerOptions,
    control: &Control,
) -> Result<(), Error> {
    let command = engine.command(&["pull", "--quiet", image]);
    let finished = control.run(&command, &[], &step(options.max_pull_time))?;
    let finished = finished.map_err(|cause| cannot(image, &format!("it cannot be fetched: {cause}")))?;
    if finished.status.is_success() {
        return Ok(());
    }
    Err(cannot(image, &format!("it cannot be fetched: {engine} says: {}", said(&finished))))
}
