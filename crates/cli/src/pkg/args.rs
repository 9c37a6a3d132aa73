//! What can be typed behind `lanai pkg`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lanai_merge::Strategy;

#[derive(Debug, Subcommand)]
pub(crate) enum Pkg {
    /// Fetch a package from a git repository
    Get(Get),
    /// Make a folder a package
    Init(Init),
    /// Show packages, resources and files as a tree
    Tree(Tree),
    /// Print the files of a package
    Cat(Cat),
    /// Show what differs between a package and its upstream
    Diff(Diff),
    /// Take over what changed upstream
    Update(Update),
}

#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is shown as help, not as markdown")]
pub(crate) struct Get {
    /// The repository and the folder in it, as <https://example.com/repo.git/folder@v1>
    #[arg(value_name = "REPO_URI[.git]/PKG_PATH[@VERSION]")]
    pub address: String,
    /// The folder to make; by default named as the last part of PKG_PATH
    #[arg(value_name = "LOCAL_DEST_DIRECTORY")]
    pub destination: Option<PathBuf>,
    /// How later updates are to merge
    #[arg(long, value_enum, default_value_t = StrategyName::ResourceMerge)]
    pub strategy: StrategyName,
    /// Say in the package what it is called here: it is an instance, to be deployed
    #[arg(long)]
    pub for_deployment: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// What the package is, in short
    #[arg(long, default_value = "sample description")]
    pub description: String,
    /// Words to find it by
    #[arg(long, value_delimiter = ',')]
    pub keywords: Vec<String>,
    /// A page about it
    #[arg(long, default_value = "", hide_default_value = true)]
    pub site: String,
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// The folder, or one file
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub path: PathBuf,
    /// Print files as they are instead of in the reference format
    #[arg(long)]
    pub raw: bool,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_field_names, reason = "the flags have these names")]
pub(crate) struct Diff {
    /// The package, and the version to compare with
    #[arg(value_name = "PKG_PATH[@VERSION]", default_value = ".")]
    pub target: String,
    /// What to compare; by default local, or combined when there is a version
    #[arg(long, value_enum)]
    pub diff_type: Option<DiffType>,
    /// A program that shows the difference of folders; without one, the difference is shown here
    #[arg(long, value_name = "PROGRAM")]
    pub diff_tool: Option<String>,
    /// Options for that program
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub diff_tool_opts: Option<String>,
    /// Keep the folders that are compared, and say where they are
    #[arg(long)]
    pub debug: bool,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffType {
    /// The package with what was fetched
    Local,
    /// What was fetched with the version
    Remote,
    /// The package with the version
    Combined,
    /// All three
    #[value(name = "3way")]
    ThreeWay,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The package, and the version to update to; by default the one that the Kptfile names
    #[arg(value_name = "PKG_PATH[@VERSION]", default_value = ".")]
    pub target: String,
    /// How to merge, now and later; by default as the Kptfile says
    #[arg(long, value_enum)]
    pub strategy: Option<StrategyName>,
    /// Whose value is taken where both sides changed the same
    #[arg(long, value_enum, default_value_t = PolicyName::Upstream)]
    pub policy: PolicyName,
    /// Conflicts as -o yaml prints them, with what to take for each in `chosen`
    #[arg(long, value_name = "FILE")]
    pub resolve: Option<PathBuf>,
    /// The version to take for what was fetched, where the repository no longer has that commit
    #[arg(long, value_name = "VERSION")]
    pub origin: Option<String>,
    /// Change nothing; show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// How to print conflicts
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
    /// Change files whose content is recorded nowhere, after copies of them were saved
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyName {
    /// Resources by their fields, text by lines
    ResourceMerge,
    /// Upstream's files, if nothing was changed here
    FastForward,
    /// Upstream's files, whatever was changed here
    ForceDeleteReplace,
    /// Upstream's files over the local ones
    CopyMerge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// Upstream's value, as kpt does
    Upstream,
    /// The local value
    Local,
    /// Neither: nothing is changed, and the exit code is 3
    Fail,
}

/// How conflicts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For --resolve
    Yaml,
    /// For programs
    Json,
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::ResourceMerge => Self::ResourceMerge,
            StrategyName::FastForward => Self::FastForward,
            StrategyName::ForceDeleteReplace => Self::ForceDeleteReplace,
            StrategyName::CopyMerge => Self::CopyMerge,
        }
    }
}
