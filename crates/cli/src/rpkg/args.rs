//! What can be typed behind `lanai rpkg`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::client::Connection;
use crate::listing::Print;
use crate::names;
use crate::output::{Formats, Output};
use crate::pkg::{Format, PolicyName};

#[derive(Debug, Args)]
pub(crate) struct Rpkg {
    #[command(flatten)]
    pub connection: Connection,
    #[command(flatten)]
    pub version: ApiVersion,
    #[command(subcommand)]
    pub command: RpkgCommand,
}

/// Which version of the API is spoken.
#[derive(Debug, Clone, Args)]
#[allow(clippy::doc_markdown, reason = "it is shown as help, not as markdown")]
pub(crate) struct ApiVersion {
    /// The version of the API of package revisions: v1alpha1 or v1alpha2 [default: PORCHCTL_API_VERSION, or v1alpha1]
    #[arg(long, global = true, value_name = "VERSION", help_heading = "Connection", hide_short_help = true)]
    pub api_version: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RpkgCommand {
    /// Show package revisions
    #[command(visible_alias = "list")]
    Get(Get),
    /// Make a new package
    Init(Init),
    /// Make a package from one that is elsewhere
    Clone(CloneFrom),
    /// Make a further revision of a package
    // "edit" is porchctl's alias of this one; here it is a command of its own.
    Copy(Copy),
    /// Fetch the files of a revision
    #[command(visible_aliases = ["source", "read"])]
    Pull(Pull),
    /// Replace the files of a draft, and run its pipeline
    #[command(visible_aliases = ["sink", "write"])]
    Push(Push),
    /// Edit the files of a draft in an editor, with what its pipeline makes of them
    Edit(Edit),
    /// Propose drafts for publication
    Propose(Many),
    /// Publish proposed revisions
    Approve(Many),
    /// Take back what was proposed
    Reject(Many),
    /// Propose published revisions for deletion
    #[command(visible_alias = "propose-del")]
    ProposeDelete(Many),
    /// Delete revisions
    #[command(visible_alias = "delete")]
    Del(Many),
    /// Take over what changed upstream
    Upgrade(Upgrade),
    /// Show what differs between a revision and its upstream, another one, or a folder
    Diff(Diff),
    /// Show the revisions of a package, and what was done to each
    Log(Log),
    /// Show which revision set each line or field of a file
    Blame(Blame),
}

#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is shown as help, not as markdown")]
pub(crate) struct Get {
    /// Their names; all where none is given
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION, value_parser = names::given)]
    pub names: Vec<String>,
    /// Those of a package: its name, with or without the folders above it
    #[arg(long, value_name = "PACKAGE")]
    pub name: Option<String>,
    /// Those with this number; -1 is what stands on the branch
    #[arg(long, value_name = "NUMBER", default_value_t = -2, hide_default_value = true, allow_negative_numbers = true)]
    pub revision: i64,
    /// Those of this workspace
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    /// Those of this repository
    #[arg(long, value_name = "REPOSITORY", value_hint = names::REPOSITORY)]
    pub repository: Option<String>,
    /// Those that are Draft, Proposed, Published or DeletionProposed
    #[arg(long, value_name = "LIFECYCLE", value_parser = lifecycle(), ignore_case = true, hide_possible_values = true)]
    pub lifecycle: Option<String>,
    /// Print the Kptfile of one revision
    #[arg(long)]
    pub show_kptfile: bool,
    #[command(flatten)]
    pub print: Print,
}

/// What is printed of what was made.
#[derive(Debug, Clone, Args)]
pub(crate) struct Made {
    /// Make nothing; say what would be made
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was made: yaml, json, name, jsonpath=TEMPLATE
    #[arg(short, long, value_name = "FORMAT", value_parser = Formats, hide_possible_values = true)]
    pub output: Option<Output>,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The package: a folder in the repository
    #[arg(value_name = "PACKAGE_NAME")]
    pub package: Option<String>,
    /// The repository
    #[arg(long, value_name = "REPOSITORY", value_hint = names::REPOSITORY)]
    pub repository: Option<String>,
    /// The name of this revision while people work on it
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "sample description")]
    pub description: String,
    /// Words to find it by
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub keywords: Vec<String>,
    /// A page about it
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub site: String,
    #[command(flatten)]
    pub made: Made,
}

#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is shown as help, not as markdown")]
pub(crate) struct CloneFrom {
    /// A package revision, or REPO.git/FOLDER@REF of any git repository
    #[arg(value_name = "SOURCE_PACKAGE", value_hint = names::REVISION)]
    pub source: Option<String>,
    /// The package to make
    #[arg(value_name = "NAME")]
    pub package: Option<String>,
    /// The folder in the git repository
    #[arg(long, value_name = "FOLDER", default_value = "", hide_default_value = true)]
    pub directory: String,
    /// The branch, tag or commit of the git repository
    #[arg(long = "ref", value_name = "REF", default_value = "", hide_default_value = true)]
    pub reference: String,
    /// The repository to make it in
    #[arg(long, value_name = "REPOSITORY", value_hint = names::REPOSITORY)]
    pub repository: Option<String>,
    /// The name of this revision while people work on it
    #[arg(long, value_name = "WORKSPACE", default_value = "v1")]
    pub workspace: String,
    /// The Secret with the credential of the git repository
    #[arg(long, value_name = "SECRET", default_value = "", hide_default_value = true)]
    pub secret_ref: String,
    #[command(flatten)]
    pub made: Made,
}

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// The published revision to begin with
    #[arg(value_name = "SOURCE_PACKAGE_REVISION", value_hint = names::REVISION)]
    pub source: Option<String>,
    /// The name of the new revision while people work on it
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    #[command(flatten)]
    pub made: Made,
}

#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// The revision
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION)]
    pub package: Option<String>,
    /// The folder to make; without one, the resources are printed as a list
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The draft
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION)]
    pub package: Option<String>,
    /// The folder with the files; - reads a list of resources from standard input
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// Change nothing; show what would change
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The draft
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION, value_parser = names::given)]
    pub package: String,
    /// The files to edit; without any, all that hold resources
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Keep what was edited without asking
    #[arg(short, long)]
    pub yes: bool,
}

/// Some revisions.
#[derive(Debug, Args)]
pub(crate) struct Many {
    /// The revisions
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION, value_parser = names::given)]
    pub names: Vec<String>,
    /// Change nothing; say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Upgrade {
    /// The published revision to upgrade
    #[arg(value_name = "SOURCE_PACKAGE_REVISION", value_hint = names::REVISION)]
    pub source: Option<String>,
    /// The revision of upstream to take; 0 is the newest
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    pub revision: i64,
    /// The name of the new revision while people work on it
    #[arg(long, value_name = "WORKSPACE", default_value = "", hide_default_value = true)]
    pub workspace: String,
    /// How to merge: resource-merge, fast-forward, force-delete-replace or copy-merge
    #[arg(long, value_name = "STRATEGY", default_value = "resource-merge")]
    pub strategy: String,
    /// Say what could be upgraded: upstream or downstream
    #[arg(long, value_name = "WHAT", default_value = "", hide_default_value = true)]
    pub discover: String,
    /// Whose value is taken where both sides changed the same
    #[arg(long, value_enum, default_value_t = PolicyName::Upstream)]
    pub policy: PolicyName,
    /// Conflicts as -o yaml prints them, with what to take for each in `chosen`
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub resolve: Option<PathBuf>,
    /// Make nothing; show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// How to print conflicts
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
    /// Upgrade the newest revision of all packages that have a newer upstream; shows which those are, and waits for --yes
    #[arg(long, conflicts_with = "source")]
    pub all: bool,
    /// With --all: of packages whose newest revision has these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", requires = "all")]
    pub selector: Option<String>,
    /// With --all: of packages of this repository
    #[arg(long, value_name = "REPOSITORY", value_hint = names::REPOSITORY, requires = "all")]
    pub repository: Option<String>,
    /// With --all: do it
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The revision
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION, value_parser = names::given)]
    pub package: String,
    /// What to compare it with: upstream (the default), another revision, or a folder
    #[arg(
        value_name = "upstream|PACKAGE_REVISION|DIR",
        value_hint = names::REVISION,
        value_parser = names::given,
        default_value = "upstream",
        hide_default_value = true
    )]
    pub with: String,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// A revision, or REPOSITORY/PACKAGE
    #[arg(
        value_name = "PACKAGE_REVISION|REPOSITORY/PACKAGE",
        value_hint = names::REVISION,
        value_parser = names::given
    )]
    pub package: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Blame {
    /// The revision
    #[arg(value_name = "PACKAGE_REVISION", value_hint = names::REVISION, value_parser = names::given)]
    pub package: String,
    /// The file
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Only this field, as spec.replicas
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
    /// The document of the file: its number from 0, or Kind/name
    #[arg(long, value_name = "N|KIND/NAME", requires = "field")]
    pub document: Option<crate::yaml::Which>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = BlameFormat::Table)]
    pub output: BlameFormat,
}

/// How lines and who set them are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BlameFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

/// A place in the life of a revision, as the server spells it.
fn lifecycle() -> impl TypedValueParser<Value = String> {
    const ALL: [&str; 4] = ["Draft", "Proposed", "Published", "DeletionProposed"];
    PossibleValuesParser::new(ALL).map(|text| {
        let found = ALL.into_iter().find(|one| one.eq_ignore_ascii_case(&text));
        found.map_or(text, str::to_owned)
    })
}
