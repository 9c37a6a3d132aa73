//! `lanai cache`: the results that functions gave before.

use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use clap::{Args, Subcommand};
use lanai_catalog::{Catalog, Entry, Moment, Options, Outcome};
use lanai_types::ByteSize;
use lanai_types::quote::Quoted;

use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::places;

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the results, those that were used last first
    Ls,
    /// Print what is known about a result, and the result
    Show(Show),
    /// Remove results: those that were not used for longest, until the rest is small enough
    Prune(Prune),
    /// Read all results, and remove those that are not what was written
    Verify,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The key of the result, or its beginning
    #[arg(value_name = "KEY")]
    pub key: String,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// How many mebibytes of results stay; by default as many as are kept anyway
    #[arg(long, value_name = "MIB", conflicts_with = "all")]
    pub max_size: Option<u32>,
    /// Remove all results
    #[arg(long)]
    pub all: bool,
}

/// The folder of the results, in that for what can be made again.
const FOLDER: &str = "results";
/// How many digits of a key are shown in lists.
const DIGITS: usize = 12;

/// The results that functions gave before on this machine, or why there are none.
pub(crate) fn catalog(io: &Io<'_>) -> Result<Catalog, String> {
    let cache = places::cache(io).map_err(|_| "HOME and LANAI_CACHE_DIR are not set".to_owned())?;
    let folder = io.folder.join(cache).join(FOLDER);
    Catalog::open(&folder, Options::default()).map_err(|error| error.to_string())
}

/// Runs one of the commands.
pub(crate) fn run(command: &CacheCommand, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let catalog = catalog(io).map_err(|text| Failure::of(Code::Cache, text))?;
    match command {
        CacheCommand::Ls => list(&catalog, io)?,
        CacheCommand::Show(show) => {
            let entry = find(&catalog, &show.key)?;
            let content = wait(catalog.content(&entry))?.map_err(|damage| {
                Failure::of(Code::Cache, format!("the result {}: {damage}", Quoted(&entry.key.to_string())))
                    .hint("it is made anew when somebody asks for it")
            })?;
            io.print(&described(&entry))?;
            io.print(&String::from_utf8_lossy(&content))?;
        }
        CacheCommand::Prune(prune) => {
            let room = match (prune.all, prune.max_size) {
                (true, _) => 0,
                (false, Some(mebibytes)) => ByteSize::mib(mebibytes).get(),
                (false, None) => Options::default().max_bytes.get(),
            };
            let pruned = wait(catalog.prune(room))?.map_err(|error| failed(&error))?;
            io.print(&format!("removed {} results and {} files\n", pruned.entries, pruned.blobs))?;
        }
        CacheCommand::Verify => return verify(&catalog, io),
    }
    Ok(Exit::Success)
}

fn list(catalog: &Catalog, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut entries = wait(catalog.entries())?.map_err(|error| failed(&error))?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let now = Moment::of_the_clock();
    let mut text = format!("{:DIGITS$}  {:>10}  {:>8}  FUNCTION\n", "KEY", "SIZE", "USED");
    for entry in &entries {
        let key = entry.key.to_string();
        let (size, used) = (ByteSize::bytes(entry.size).to_string(), age(now.since(entry.used)));
        let _ = writeln!(text, "{}  {size:>10}  {used:>8}  {}", &key[..DIGITS], entry.subject);
    }
    io.print(&text)
}

fn verify(catalog: &Catalog, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let verified = wait(catalog.verify())?.map_err(|error| failed(&error))?;
    for finding in &verified.findings {
        io.print(&format!("{finding}\n"))?;
    }
    io.print(&format!("{} results are whole\n", verified.whole))?;
    if verified.orphans > 0 {
        io.tell(&format!(
            "note: {} files belong to no result; \"lanai cache prune\" removes them",
            verified.orphans
        ));
    }
    if verified.findings.is_empty() {
        return Ok(Exit::Success);
    }
    Err(Failure::of(Code::Cache, format!("{} things were not right", verified.findings.len()))
        .hint("results among them were removed, and are made anew when somebody asks for them"))
}

/// The one result whose key begins like that.
fn find(catalog: &Catalog, beginning: &str) -> Result<Entry, Failure> {
    let entries = wait(catalog.entries())?.map_err(|error| failed(&error))?;
    let mut found = entries.into_iter().filter(|entry| entry.key.to_string().starts_with(beginning));
    let first = found.next();
    let shown = Quoted(beginning).to_string();
    match (first, found.next()) {
        (None, _) => Err(Failure::of(Code::Cache, format!("there is no result {shown}"))
            .hint("\"lanai cache ls\" lists them")),
        (Some(_), Some(_)) => Err(Failure::of(Code::Cache, format!("several results begin with {shown}"))),
        (Some(entry), None) => Ok(entry),
    }
}

fn described(entry: &Entry) -> String {
    let now = Moment::of_the_clock();
    let outcome = match entry.outcome {
        Outcome::Success => "success".to_owned(),
        Outcome::Failure { until } => format!("failure, for {} more", age(until.since(now))),
    };
    format!(
        "key: {}\ncontent: {}\nsize: {}\nof: {}\noutcome: {outcome}\nmade: {} ago\nused: {} ago\n\n",
        entry.key,
        entry.blob,
        ByteSize::bytes(entry.size),
        entry.subject,
        age(now.since(entry.made)),
        age(now.since(entry.used)),
    )
}

/// A time, roughly.
fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn wait<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime =
        runtime.map_err(|error| Failure::of(Code::Machine, format!("cannot start a thread: {error}")))?;
    Ok(runtime.block_on(work))
}

fn failed(error: &lanai_catalog::Error) -> Failure {
    Failure::of(Code::Cache, error.to_string())
}
