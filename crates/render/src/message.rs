//! What a condition says about a failure.
//!
//! The texts are kpt's: what went wrong, behind the steps and packages that lead there. Folders are as seen from the root.

use lanai_evaluate::{Error as EvaluateError, Failing};
use lanai_krm::kptfile;
use lanai_krm::package::{self, Folder};
use lanai_types::quote::Quoted;

use crate::check::BadFunction;
use crate::error::{Cause, Failure, FunctionFailure, Why};
use crate::tree::{Node, Order};

/// A package in which something failed.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub nodes: &'a [Node],
    pub at: usize,
    pub order: Order,
}

impl Place<'_> {
    /// Something that concerns the package as a whole.
    pub fn failure(self, cause: Cause) -> Failure {
        let message = match &cause {
            Cause::Function(failure) => self.in_step("pipeline.run", &function(failure)),
            Cause::Read(error) => self.in_step("pkg.readResources", &read(error)),
            Cause::Unrunnable(_)
            | Cause::Kptfile(_)
            | Cause::Invalid(_)
            | Cause::Config(_)
            | Cause::Input(_)
            | Cause::Write(_)
            | Cause::Status(_)
            | Cause::TooDeep { .. }
            | Cause::TooManyItems { .. } => self.plain(&cause.to_string()),
        };
        Failure { package: self.folder().clone(), cause, message }
    }

    /// A pipeline that cannot be.
    pub fn invalid(self, bad: BadFunction) -> Failure {
        let text = format!("invalid pipeline: function {}: {}", Quoted(&bad.function), bad.invalid);
        let message = self.in_step("pkg.read", &text);
        Failure { package: self.folder().clone(), cause: Cause::Invalid(bad.invalid), message }
    }

    /// A Kptfile that cannot be read: it fails the package that it is in.
    pub fn unreadable(self, cause: kptfile::Error) -> Failure {
        let outer = self.nodes[self.at].outer.map_or(self, |outer| Self { at: outer, ..self });
        let at = shown(self.folder());
        let text = format!("pkg.Subpackages: pkg {at}: error reading Kptfile at {}: {cause}", Quoted(&at));
        let message = format!("{}\n\t{text}", outer.head());
        Failure { package: self.folder().clone(), cause: Cause::Kptfile(cause), message }
    }

    fn folder(&self) -> &Folder {
        &self.nodes[self.at].folder
    }

    fn in_step(self, step: &str, text: &str) -> String {
        let names_package = self.order == Order::BreadthFirst && *self.folder() != Folder::Root;
        let package = if names_package { format!("pkg {}: ", shown(self.folder())) } else { String::new() };
        format!("{}\n\t{step}: {package}{text}", self.head())
    }

    fn plain(self, text: &str) -> String {
        let inside = self.order == Order::DepthFirst && *self.folder() != Folder::Root;
        format!("{}{}{text}", self.head(), if inside { "\n\t" } else { " " })
    }

    /// The packages that lead there. The root is named when there is no other, and always when the order is breadth first.
    fn head(self) -> String {
        let mut chain = Vec::new();
        let mut at = Some(self.at);
        while let Some(node) = at.map(|at| &self.nodes[at]) {
            chain.push(format!("pkg {}:", shown(&node.folder)));
            at = node.outer;
        }
        let root = chain.pop().unwrap_or_default();
        chain.reverse();
        let named = match self.order {
            Order::DepthFirst if !chain.is_empty() => chain.join("\n\t"),
            Order::DepthFirst | Order::BreadthFirst => root,
        };
        format!("pkg.render: {named}")
    }
}

fn function(failure: &FunctionFailure) -> String {
    match &failure.why {
        // The function has said it in its own words, and the steps have them.
        Why::Evaluation(EvaluateError::Failed(failed))
            if matches!(failed.why, Failing::Exit(_) | Failing::Signal(_)) =>
        {
            "already handled error".to_owned()
        }
        why => why.to_string(),
    }
}

fn read(error: &package::Error) -> String {
    match error {
        package::Error::Unreadable { path, cause } => format!("./{path}: {cause}"),
        package::Error::NotAResource { path, line, found } => {
            format!("./{path}: line {line}: a resource is a mapping, this is {found}")
        }
        error => error.to_string(),
    }
}

fn shown(folder: &Folder) -> String {
    match folder {
        Folder::Root => ".".to_owned(),
        Folder::At(path) => format!("./{path}"),
    }
}
