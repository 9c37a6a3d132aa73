//! What can be typed behind `lanai fn`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Subcommand, ValueEnum};

use crate::containers;

#[derive(Debug, Subcommand)]
pub(crate) enum Func {
    /// Run the pipelines of a package and of the packages in it
    Render(Render),
    /// Run one function on a package
    Eval(Box<Eval>),
    /// Print the resources of a folder
    Source(Source),
    /// Write resources from standard input to a folder
    Sink(Sink),
    /// Show what a function is for, its configuration and an example
    Doc(Doc),
    /// Be a function: read a list of resources from standard input, write one to standard output
    Run(Run),
    /// List the functions that come with the program
    List,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Render {
    /// The package
    #[arg(value_name = "PKG_PATH", default_value = ".")]
    pub folder: PathBuf,
    /// Where resources go: stdout (a list), unwrap (plain resources), or a folder that is not there yet; by default into the package
    #[arg(short, long, value_name = "stdout|unwrap|DIR")]
    pub output: Option<String>,
    /// Allow functions that are programs of this machine
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true, hide_possible_values = true)]
    pub allow_exec: bool,
    /// Show what would change, and write nothing
    #[arg(long, conflicts_with_all = ["output", "watch"])]
    pub diff: bool,
    /// Render again whenever files change, until interrupted
    #[arg(long, conflicts_with = "output")]
    pub watch: bool,
    /// Leave the status in the Kptfile as it is
    #[arg(long)]
    pub no_status: bool,
    /// Say of each step why it ran, or that its result was known
    #[arg(long)]
    pub explain: bool,
    /// Run all functions, also those whose results are known, and keep nothing
    #[arg(long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub common: Common,
}

/// Flags of all commands that run functions.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Common {
    /// Write what functions report to results.yaml in this folder
    #[arg(long, value_name = "DIR")]
    pub results_dir: Option<PathBuf>,
    /// What stands before names of images that have no registry
    #[arg(long, value_name = "PREFIX")]
    pub image_prefix: Option<String>,
    /// For which images a function that comes with the program is taken
    #[arg(long, value_enum, default_value_t = NativeImages::Catalog)]
    pub native: NativeImages,
    /// When images are fetched that run in containers
    #[arg(long, value_name = "POLICY", ignore_case = true, default_value = "IfNotPresent",
          value_parser = PossibleValuesParser::new(containers::PULLS))]
    pub image_pull_policy: String,
    /// What runs images that do not come with the program; by default, what the environment names, or whichever is there
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(containers::NAMES))]
    pub container_runtime: Option<String>,
    /// Let functions use the network
    #[arg(long, visible_alias = "network", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true, hide_possible_values = true)]
    pub allow_network: bool,
    /// Let functions that are made for it start this program, such as helm
    #[arg(long, value_name = "NAME")]
    pub allow_program: Vec<String>,
    /// A file or folder that functions see: src=PATH, and if they see it elsewhere dst=PATH; read only, unless rw=true
    #[arg(long, value_name = "[type=bind,]src=PATH[,dst=PATH][,rw=true]")]
    pub mount: Vec<String>,
    /// A variable of the environment for functions; without a value, it has yours
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Run functions as you, where they would run as nobody
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true, hide_possible_values = true)]
    pub as_current_user: bool,
    /// Taken for compatibility: a command that ends with .wasm is a module in any case
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide = true)]
    pub allow_alpha_wasm: bool,
    /// Taken for compatibility: output is never cut
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", hide = true)]
    pub truncate_output: bool,
    /// Taken for compatibility
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide = true)]
    pub stack_trace: bool,
}

/// For which images a function that comes with the program is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NativeImages {
    /// Those of the public catalog, at the tags that it stands for
    Catalog,
    /// Those of any registry with the same name and tag
    Any,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Eval {
    /// The folder or file; - reads resources from standard input
    #[arg(value_name = "DIR|-")]
    pub target: Vec<PathBuf>,
    /// The image of the function
    #[arg(short, long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// The command that is the function
    #[arg(long, value_name = "COMMAND")]
    pub exec: Option<String>,
    /// The tag that --save writes down
    #[arg(long, value_name = "TAG", default_value = "", hide_default_value = true)]
    pub tag: String,
    /// The file that configures it
    #[arg(long, value_name = "FILE")]
    pub fn_config: Option<PathBuf>,
    /// Where resources go: stdout (a list), unwrap (plain resources), or a folder that is not there yet; by default into the folder
    #[arg(short, long, value_name = "stdout|unwrap|DIR")]
    pub output: Option<String>,
    /// Show what would change, and write nothing
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,
    /// Keep the function in the pipeline of the Kptfile
    #[arg(short, long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", hide_default_value = true, hide_possible_values = true)]
    pub save: bool,
    /// Which part of the pipeline --save puts it into
    #[arg(short = 't', long = "type", value_name = "mutator|validator")]
    pub function_type: Option<String>,
    #[command(flatten)]
    pub matching: Matching,
    /// Taken no longer
    #[arg(short = 'm', long, hide = true)]
    pub include_meta_resources: bool,
    #[command(flatten)]
    pub common: Common,
    /// What configures it, in place: an optional kind, then key=value
    #[arg(last = true, value_name = "[KIND] KEY=VALUE")]
    pub arguments: Vec<String>,
}

/// Which resources a function sees.
#[derive(Debug, Args)]
#[allow(clippy::struct_field_names, reason = "the flags have these names")]
pub(crate) struct Matching {
    /// Only resources of this group and version
    #[arg(long, value_name = "API_VERSION", default_value = "", hide_default_value = true)]
    pub match_api_version: String,
    /// Only resources of this kind
    #[arg(long, value_name = "KIND", default_value = "", hide_default_value = true)]
    pub match_kind: String,
    /// Only resources of this name
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub match_name: String,
    /// Only resources of this namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "", hide_default_value = true)]
    pub match_namespace: String,
    /// Only resources with this label
    #[arg(long, value_name = "KEY=VALUE")]
    pub match_labels: Vec<String>,
    /// Only resources with this annotation
    #[arg(long, value_name = "KEY=VALUE")]
    pub match_annotations: Vec<String>,
    /// No resources of this group and version
    #[arg(long, value_name = "API_VERSION", default_value = "", hide_default_value = true)]
    pub exclude_api_version: String,
    /// No resources of this kind
    #[arg(long, value_name = "KIND", default_value = "", hide_default_value = true)]
    pub exclude_kind: String,
    /// No resources of this name
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub exclude_name: String,
    /// No resources of this namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "", hide_default_value = true)]
    pub exclude_namespace: String,
    /// No resources with this label
    #[arg(long, value_name = "KEY=VALUE")]
    pub exclude_labels: Vec<String>,
    /// No resources with this annotation
    #[arg(long, value_name = "KEY=VALUE")]
    pub exclude_annotations: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The folder or file
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// stdout (a list) or unwrap (plain resources)
    #[arg(short, long, default_value = "stdout")]
    pub output: String,
    /// A file whose resource becomes the function config of the list
    #[arg(long, value_name = "FILE")]
    pub fn_config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Sink {
    /// The folder, which must not be there yet
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Doc {
    /// The function
    #[arg(value_name = "NAME", conflicts_with = "image")]
    pub name: Option<String>,
    /// The image of the function
    #[arg(short, long, value_name = "IMAGE")]
    pub image: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The function, by its name or image
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A variable of the environment for the function, if it has a use for one; without a value, it has yours
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
}
