//! `lanai demo`: a server with a small world in it, and a tour.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use lanai_demo::{Tools, Tour};
use lanai_types::quote::Quoted;

use crate::failure::{Code, Failure, cause};
use crate::func::quoted;
use crate::io::{Audience, Exit, Io};
use crate::pkg::local::absolute;
use crate::places;
use crate::serve::{FunctionSettings, GateSettings, LimitSettings, LogFormat, ServerSettings, Serving};

/// Any free port: two demos, or a demo beside a server, do not get in each other's way.
const LISTEN: &str = "127.0.0.1:0";
/// The log, in the folder of the demo.
const LOG: &str = "server.log";
/// The folder of the Git repositories, in the folder of the demo.
const REPOSITORIES: &str = "repositories";

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where everything is kept, also afterwards; must be empty or not there [default: a new temporary folder, which is
    /// removed at the end]
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Where to listen [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// End when everything is made, instead of serving until Ctrl-C
    #[arg(long, visible_alias = "no-wait")]
    pub once: bool,
}

/// What a demo is started with.
#[derive(Debug, Clone)]
pub struct DemoSettings {
    /// The server.
    pub server: ServerSettings,
    /// Where the Git repositories go.
    pub repositories: PathBuf,
    /// Where log lines go.
    pub log: PathBuf,
    /// Whether it goes on when everything is made.
    pub then: Then,
}

/// What happens when everything is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It serves until it is asked to end.
    Serve,
    /// It ends.
    End,
}

/// What a demo tells while it runs.
#[derive(Debug)]
pub enum Told<'a> {
    /// A step begins.
    Step(&'a str),
    /// Everything is made.
    Ready(SocketAddr),
}

/// The folder of a demo; one that we made ourselves goes when the demo ends.
struct Place {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

/// Makes the world, shows the way through it, and serves until the command is asked to end.
pub(crate) fn run(demo: &Demo, serving: &dyn Serving, io: &mut Io<'_>) -> Result<Exit, Failure> {
    // What was begun is finished, and what is temporary is removed, before the process ends.
    let busy = io.stop.busy();
    let done = run_in(place(demo, io)?, demo, serving, io);
    if done.is_ok() {
        io.stop.ended_well();
    }
    drop(busy);
    done
}

fn run_in(place: Place, demo: &Demo, serving: &dyn Serving, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let folder = place.path.clone();
    let token = io.stop.token();
    let settings = DemoSettings {
        server: server(&folder, demo.listen),
        repositories: folder.join(REPOSITORIES),
        log: folder.join(LOG),
        then: if demo.once { Then::End } else { Then::Serve },
    };
    let tools = tools(io);
    let mut printed = Ok(());
    let served = serving.demo(settings, token, &mut |told| match told {
        Told::Step(step) => {
            if io.audience == Audience::Terminal {
                // One line, over and over.
                let _ = write!(io.stderr, "\r\x1b[K{step}");
                let _ = io.stderr.flush();
            }
        }
        Told::Ready(address) => {
            if io.audience == Audience::Terminal {
                let _ = write!(io.stderr, "\r\x1b[K");
            }
            printed = show(&folder, address, &tools, demo, place.temporary.is_some(), io);
        }
    });
    if let Err(why) = served {
        let kept = place.keep();
        return Err(Failure::of(Code::Serve, format!("the demo ended: {why}"))
            .hint(format!("its log is {}", kept.join(LOG).display())));
    }
    printed?;
    match place.end() {
        Some(kept) => {
            let kept = kept.display().to_string();
            io.tell(&format!("the demo ended; to go on: lanai serve --data-dir {kept}"));
        }
        None => io.tell("the demo ended, and its folder is removed"),
    }
    Ok(Exit::Success)
}

fn show(
    folder: &Path,
    address: SocketAddr,
    tools: &Tools,
    demo: &Demo,
    is_temporary: bool,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let tour = Tour::prepare(folder, tools.clone());
    let tour = tour.map_err(|error| {
        Failure::of(
            Code::File,
            format!("the folder of the tour cannot be made below {}: {error}", folder.display()),
        )
    })?;
    let place = |below: &str| folder.join(below).display().to_string();
    let mut text = format!(
        "A small world is served at https://{address}. All of it is in {}:\n\n  kubeconfig    {}\n  repositories  {}\n  log           {}\n\n",
        folder.display(),
        place("kubeconfig"),
        place(REPOSITORIES),
        place(LOG),
    );
    if !tools.kubectl {
        text.push_str("There is no kubectl on PATH; the tour does without it.\n\n");
    }
    if demo.once && is_temporary {
        text.push_str("It ends at once, and the folder goes with it: --dir FOLDER keeps it, to be served by lanai serve.\n");
        return io.print(&text);
    }
    if demo.once {
        let shown = folder.display().to_string();
        let _ = writeln!(text, "It ends at once; serve it with: lanai serve --data-dir {}\n", quoted(&shown));
    }
    text.push_str("Copy these lines into another terminal, one by one:\n\n");
    text.push_str(&tour.to_string());
    if !demo.once {
        let end = if is_temporary { "ends it and removes the folder" } else { "ends it; the folder stays" };
        let _ = writeln!(text, "Ctrl-C {end}.");
    }
    io.print(&text)
}

fn server(folder: &Path, listen: Option<SocketAddr>) -> ServerSettings {
    ServerSettings {
        data: folder.to_owned(),
        listen: listen.unwrap_or_else(|| LISTEN.parse().expect("an address of ours")),
        names: Vec::new(),
        token_file: None,
        front_proxy_ca: None,
        front_proxy_names: Vec::new(),
        authorization_kubeconfig: None,
        functions: FunctionSettings::default(),
        traces: None,
        readiness_gates: GateSettings::default(),
        limits: LimitSettings::default(),
        log_format: LogFormat::Text,
    }
}

fn place(demo: &Demo, io: &Io<'_>) -> Result<Place, Failure> {
    let Some(given) = &demo.dir else {
        let parent = places::variable("TMPDIR", io).unwrap_or_else(|| PathBuf::from("/tmp"));
        let made = tempfile::Builder::new().prefix("lanai-demo-").tempdir_in(&parent);
        let made = made.map_err(|error| {
            let shown = parent.display().to_string();
            Failure::of(
                Code::Machine,
                format!("no folder can be made in {}: {}", Quoted(&shown), cause(&error)),
            )
            .hint("name one with --dir FOLDER")
        })?;
        return Ok(Place { path: made.path().to_owned(), temporary: Some(made) });
    };
    let path = absolute(given, io)?;
    let shown = given.display().to_string();
    let failed =
        |error: std::io::Error| Failure::of(Code::File, format!("{}: {}", Quoted(&shown), cause(&error)));
    std::fs::create_dir_all(&path).map_err(failed)?;
    if std::fs::read_dir(&path).map_err(failed)?.next().is_some() {
        return Err(Failure::of(
            Code::Exists,
            format!("{} is not empty: a demo begins in a fresh folder", Quoted(&shown)),
        )
        .hint(format!(
            "name another one; a demo that is in it goes on with: lanai serve --data-dir {shown}"
        )));
    }
    Ok(Place { path, temporary: None })
}

impl Place {
    /// The folder, for good.
    fn keep(self) -> PathBuf {
        if let Some(temporary) = self.temporary {
            let _ = temporary.keep();
        }
        self.path
    }

    /// Removes what is temporary; gives what stays.
    fn end(self) -> Option<PathBuf> {
        match self.temporary {
            // What cannot be removed is in the folder for such things.
            Some(temporary) => drop(temporary),
            None => return Some(self.path),
        }
        None
    }
}

fn tools(io: &Io<'_>) -> Tools {
    let path = io.environment.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
    let find =
        |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let same = |one: &Path, other: &Path| one.canonicalize().ok() == other.canonicalize().ok();
    let folder = io.program.as_ref().and_then(|program| {
        let is_found = find("lanai").is_some_and(|found| same(&found, program));
        if is_found { None } else { program.parent().map(Path::to_owned) }
    });
    Tools { kubectl: find("kubectl").is_some(), git: find("git").is_some(), folder }
}
