//! What can be typed.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use lanai_yaml::Path;

use crate::file::Source;
use crate::func::Func;
use crate::pkg::Pkg;
use crate::store::StoreCommand;
use crate::yaml::Which;

/// Looks after packages of Kubernetes configuration.
#[derive(Debug, Parser)]
#[command(name = "lanai", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read and edit YAML files, byte for byte as they are but for the edit
    #[command(subcommand)]
    Yaml(Yaml),
    /// Fetch packages, look at them, and take over what changed upstream
    #[command(subcommand, visible_alias = "package")]
    Pkg(Pkg),
    /// Back up, restore and check what the server keeps
    #[command(subcommand)]
    Store(StoreCommand),
    /// Look at the results that functions gave before, and remove them
    #[command(subcommand)]
    Cache(crate::cache::CacheCommand),
    /// Run functions for programs that speak Porch's gRPC contract
    FunctionRunner(crate::running::FunctionRunner),
    /// Run one program for each call of that contract, inside of its container
    WrapperServer(crate::running::WrapperServer),
    /// Serve the Kubernetes API, with everything in a data directory
    Serve(crate::serve::Serve),
    /// Serve a small world to look around in, and show the way through it
    Demo(crate::demo::Demo),
    /// Register repositories with a server, and look at them
    Repo(Box<crate::repo::Repo>),
    /// Make, change, publish and upgrade package revisions on a server
    Rpkg(Box<crate::rpkg::Rpkg>),
    /// Print the names of what is on a server, for shells that complete words
    #[command(hide = true)]
    Names(Box<crate::names::Names>),
    /// Says how packages are applied: that is the work of other programs
    Live(crate::live::Live),
    /// Print the kubeconfig of a server
    Kubeconfig(crate::serve::Kubeconfig),
    /// Say what is wrong with this set-up, and how to mend it
    Doctor(Box<crate::doctor::Doctor>),
    /// Print what a shell needs to complete the words of a command line
    Completion(crate::manual::Completion),
    /// Say more about an error: what it means, why it happens, what to do
    Explain(crate::manual::Explain),
    /// Print a page of docs/reference
    #[command(hide = true)]
    Reference(crate::manual::Reference),
    /// Print the version
    #[command(hide = true)]
    Version,
    /// Run functions on packages
    #[command(name = "fn", subcommand, visible_aliases = ["function", "functions"])]
    Func(Box<Func>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Yaml {
    /// Print a value
    Get(Get),
    /// Change, add or delete a value; everything else in the file stays as it is
    Set(Set),
    /// Rewrite files in the reference format, as kyaml writes it
    Fmt(Fmt),
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The file; - is standard input
    #[arg(value_parser = source())]
    pub file: Source,
    /// Where the value is, as spec.template.spec.containers[name=app].image
    #[arg(value_parser = path)]
    pub path: Path,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// The document to look in: its number from 0, or Kind/name
    #[arg(long, value_name = "N|KIND/NAME", allow_hyphen_values = true)]
    pub document: Option<Which>,
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Scalars without quotes, collections as they are written
    Text,
    /// Everything as it is written, comments included; an alias as what it stands for
    Yaml,
    /// JSON, aliases and merge keys resolved; numbers keep their digits
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The file; - edits standard input into standard output
    #[arg(value_parser = source())]
    pub file: Source,
    /// Where the value is, or is to be; [] at the end appends to a list, . is the whole document
    #[arg(value_parser = named_path)]
    pub path: Path,
    /// The new value, in YAML: 3, true, text, "3", {a: 1}, [1, 2]
    #[arg(required_unless_present = "delete", allow_negative_numbers = true)]
    pub value: Option<String>,
    /// Take VALUE as text, whatever it looks like
    #[arg(long)]
    pub string: bool,
    /// Delete what is there instead of setting it
    #[arg(long, conflicts_with_all = ["value", "string", "comment"])]
    pub delete: bool,
    /// Put a comment on the line of the value
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// The document to edit: its number from 0, or Kind/name
    #[arg(long, value_name = "N|KIND/NAME", allow_hyphen_values = true)]
    pub document: Option<Which>,
    #[command(flatten)]
    pub preview: Preview,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The files; - formats standard input into standard output
    #[arg(required = true, value_name = "FILE", value_parser = source())]
    pub files: Vec<Source>,
    /// Change nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Format a file even where kyaml's format drops a comment or changes a value
    #[arg(long)]
    pub lossy: bool,
    #[command(flatten)]
    pub preview: Preview,
}

/// What to show of a change, and whether to make it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Preview {
    /// Show what changes
    #[arg(long)]
    pub diff: bool,
    /// Change nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn source() -> impl TypedValueParser<Value = Source> {
    OsStringValueParser::new().map(|name: OsString| Source::from(name))
}

/// Reads a path that is not empty: a variable that is not set must not replace a whole document.
fn named_path(text: &str) -> Result<Path, String> {
    if text.is_empty() { Err("it is empty; write . for the whole document".into()) } else { path(text) }
}

/// Reads a path; the error shows where it is wrong.
fn path(text: &str) -> Result<Path, String> {
    Path::parse(text).map_err(|error| format!("{error:#}"))
}
