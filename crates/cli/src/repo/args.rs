//! What can be typed behind `lanai repo`.

use clap::{Args, Subcommand};

use crate::client::Connection;
use crate::listing::Print;
use crate::names;

#[derive(Debug, Args)]
pub(crate) struct Repo {
    #[command(flatten)]
    pub connection: Connection,
    #[command(subcommand)]
    pub command: RepoCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RepoCommand {
    /// Show registered repositories
    #[command(visible_aliases = ["ls", "list"])]
    Get(Get),
    /// Register a repository
    #[command(visible_alias = "register")]
    Reg(Box<Register>),
    /// Forget a repository; what is in it stays
    #[command(visible_alias = "unregister")]
    Unreg(Unregister),
    /// Look at repositories anew
    #[command(visible_alias = "reconcile")]
    Sync(Sync),
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Their names; all where none is given
    #[arg(value_name = "REPOSITORY", value_hint = names::REPOSITORY, value_parser = names::given)]
    pub names: Vec<String>,
    #[command(flatten)]
    pub print: Print,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Register {
    /// The address of the git repository
    #[arg(value_name = "REPOSITORY")]
    pub address: Option<String>,
    /// The folder in it below which packages are
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub directory: String,
    /// The branch
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub branch: String,
    /// Make the branch where it is missing
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true)]
    pub create_branch: bool,
    /// The name here [default: the last part of the address]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub description: String,
    /// What is in it is deployed
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true)]
    pub deployment: bool,
    /// The user for the git repository
    #[arg(long, value_name = "USER", default_value = "", hide_default_value = true)]
    pub repo_basic_username: String,
    /// The password for the git repository; - reads it from standard input
    #[arg(long, value_name = "PASSWORD", default_value = "", hide_default_value = true)]
    pub repo_basic_password: String,
    /// Ask the cloud who we are to the git repository
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true)]
    pub repo_workload_identity: bool,
    /// When it is looked at anew: five fields, as of cron
    #[arg(long, value_name = "CRON", default_value = "", hide_default_value = true)]
    pub sync_schedule: String,
    /// Let the controllers of v1alpha2 look after it
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide = true)]
    pub v1alpha2: bool,
    /// Wait until it can be used
    #[arg(long)]
    pub wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Unregister {
    /// Its name
    #[arg(value_name = "REPOSITORY", value_hint = names::REPOSITORY)]
    pub name: Option<String>,
    /// Leave the Secret with the credential
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true)]
    pub keep_auth_secret: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// Their names
    #[arg(value_name = "REPOSITORY", value_hint = names::REPOSITORY, value_parser = names::given)]
    pub names: Vec<String>,
    /// All of the namespace
    #[arg(long)]
    pub all: bool,
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// When: in how long, as 5m, or at what time, as 2026-01-02T15:04:05Z; in a minute at the earliest
    #[arg(long, value_name = "DURATION|TIME", default_value = "", hide_default_value = true)]
    pub run_once: String,
}
