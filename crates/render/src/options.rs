//! What a caller decides about a render.

use std::time::Duration;

use lanai_evaluate::Grants;
use lanai_krm::package::{OtherYaml, ReadOptions};
use lanai_types::ByteSize;
use tokio_util::sync::CancellationToken;

use crate::image::Tags;

/// What a caller decides about a render.
#[derive(Clone)]
pub struct Options<'a> {
    /// What the root package is called in messages: mostly the name of its folder.
    pub name: String,
    /// What short names of images are prefixed with.
    pub image_prefix: String,
    /// Which tags an image has, for tags that are ranges of versions.
    pub tags: &'a dyn Tags,
    /// Whether a pipeline may name programs of this machine.
    pub exec: ExecPolicy,
    /// What functions may do.
    pub grants: Grants,
    /// How files become resources. Whatever it says about other YAML, functions get mappings only, and what is no resource
    /// fails the render: see [`OtherYaml::Refused`](lanai_krm::package::OtherYaml::Refused).
    pub read: ReadOptions,
    /// Whether the root Kptfile tells about the render.
    pub status: StatusPolicy,
    /// Bounds.
    pub limits: RenderLimits,
    /// Whoever holds a clone can call the render off.
    pub cancel: CancellationToken,
}

/// Whether a pipeline may name programs of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecPolicy {
    /// It may not.
    #[default]
    Refused,
    /// It may.
    Allowed,
}

/// Whether the root Kptfile tells about the render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusPolicy {
    /// The condition `Rendered` and `renderStatus` are set.
    #[default]
    Write,
    /// The Kptfile keeps what it says.
    Leave,
}

/// Bounds on a render. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Packages inside packages, the root included.
    pub max_depth: usize,
    /// Resources in all packages together, at any moment.
    pub max_items: usize,
    /// How long one function may run.
    pub max_function_time: Duration,
    /// How much the status in the Kptfile keeps of what one function wrote to its standard error output, and of the message of each
    /// result. What is left out is counted there; results have all of it.
    pub max_status_stderr: ByteSize,
    /// How many results of one function the status in the Kptfile keeps. What is left out is counted there.
    pub max_status_results: usize,
}

impl Options<'_> {
    /// How the files of a package become what functions get.
    pub(crate) fn strict_read(&self) -> ReadOptions {
        ReadOptions { other_yaml: OtherYaml::Refused, ..self.read }
    }
}

impl RenderLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_depth: 32,
        max_items: 1_000_000,
        max_function_time: Duration::from_mins(5),
        max_status_stderr: ByteSize::kib(4),
        max_status_results: 100,
    };
}

impl Default for RenderLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
