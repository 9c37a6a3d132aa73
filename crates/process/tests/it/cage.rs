//! Programs in cages. What hostile ones can do is tested with the real binary, in `crates/lanai`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use lanai_process::{
    Access, Cage, CageLimits, Caged, Caging, Command, Error, FilesHeld, Limits, Network, NetworkHeld, Policy,
    ProcessesHeld, Shortfall, Status, Tree, User, View,
};
use lanai_testkit::skip;
use lanai_types::ByteSize;

use crate::script;

/// A cage with the defaults, in which nothing is seen but the system.
fn cage() -> Cage {
    Cage {
        launcher: env!("CARGO_BIN_EXE_lanai-process-launcher").into(),
        policy: Policy::BestEffort,
        network: Network::None,
        user: User::Nobody,
        views: Vec::new(),
        limits: CageLimits::DEFAULT,
        temporary: std::env::temp_dir(),
    }
}

fn limited(limits: CageLimits) -> Cage {
    Cage { limits, ..cage() }
}

fn run(cage: &Cage, command: &Command) -> Result<Caged, Error> {
    command.run_caged(cage, b"input", &Limits::DEFAULT, |_| ())
}

fn sh(text: &str) -> Command {
    Command::new("/bin/sh").argument("-c").argument(text).variable("PATH", "/usr/bin:/bin")
}

fn said(cage: &Cage, text: &str) -> String {
    let caged = run(cage, &sh(text)).expect("it can be caged");
    assert_eq!(caged.finished.status, Status::Exited(0), "{}", caged.finished.messages);
    String::from_utf8(caged.finished.output).expect("it is text")
}

/// Whether the cages of this machine have a file system of their own. If not, the test says that it is skipped.
fn has_private_root(test: &str) -> bool {
    let held = run(&cage(), &sh("exit 0")).expect("it can be caged").held;
    if held.files != FilesHeld::PrivateRoot {
        skip(test, "there can be no private file systems on this machine");
    }
    held.files == FilesHeld::PrivateRoot
}

#[test]
fn a_caged_program_ends_as_any_other() {
    let check = |text: &str, status| {
        let caged = run(&cage(), &sh(text)).expect("it can be caged");
        assert_eq!(caged.finished.status, status, "{text}");
        caged.finished
    };
    assert_eq!(check("cat; echo why >&2; exit 0", Status::Exited(0)).output, b"input");
    assert_eq!(check("echo why >&2; exit 3", Status::Exited(3)).messages, "why\n");
    check("exit 137", Status::Exited(137));
    check("kill -9 $$", Status::Killed(9));
    check("kill -SEGV $$", Status::Killed(11));
    check("exec sh -c 'exit 125'", Status::Exited(125));
    let orphan = check("(sleep 0.05; exit 7) & exit 5", Status::Exited(5));
    assert_eq!(orphan.output, b"");
}

#[test]
fn the_environment_is_that_of_the_program_and_not_of_its_launcher() {
    let desk = tempfile::tempdir().expect("there is room");
    let trace = desk.path().join("trace");
    // A launcher that had these variables would write to the file.
    let env = Command::new("/usr/bin/env")
        .variable("A", "1")
        .variable("LD_DEBUG", "statistics")
        .variable("LD_DEBUG_OUTPUT", &trace);
    let caged = run(&cage(), &env).expect("it can be caged");
    let text = String::from_utf8(caged.finished.output).expect("it is text");
    // The loader of the program itself talks in between, with a number in front.
    let names = text.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split('=').next());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "LD_DEBUG", "LD_DEBUG_OUTPUT"], "{text}");
    assert_eq!(fs::read_dir(desk.path()).expect("it is ours").count(), 0, "the program cannot write there");
}

#[test]
fn names_for_open_files_work() {
    assert_eq!(said(&cage(), "cat /dev/stdin > /dev/stdout; echo x > /dev/stderr"), "input");
}

#[test]
fn what_cannot_be_started_is_named() {
    let refused = |command: &Command| match run(&cage(), command) {
        Err(Error::Cage { why, .. }) => why,
        other => format!("{other:?}"),
    };
    let missing = refused(&Command::new("/no/such/program"));
    assert!(missing.starts_with("\"/no/such/program\" cannot be run"), "{missing}");
    assert!(missing.ends_with("No such file or directory (os error 2)"), "{missing}");
    let text = refused(&Command::new("/etc/passwd"));
    assert!(text.ends_with("Permission denied (os error 13)"), "{text}");

    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("fn");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::write(&path, "#!/no/such/interpreter\n").expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let seen = Cage { views: vec![View::of(folder.path())], ..cage() };
    let caged = run(&seen, &Command::new(path)).expect("it can be caged");
    assert_eq!(caged.finished.status, Status::Exited(127));
    assert!(caged.finished.messages.contains("interpreter"), "{}", caged.finished.messages);

    let nobody = Cage { launcher: "/no/such/launcher".into(), ..cage() };
    assert!(matches!(run(&nobody, &script("true")), Err(Error::NotFound { .. })));
    let another = Cage { launcher: "/bin/true".into(), ..cage() };
    let error = run(&another, &sh("echo ran")).expect_err("it is no launcher").to_string();
    assert!(error.contains("without a word"), "{error}");
}

#[test]
fn time_and_output_are_limited_as_outside() {
    let limits = Limits { max_output: ByteSize::bytes(5), ..Limits::DEFAULT };
    let check = |text: &str| sh(text).run_caged(&cage(), b"", &limits, |_| ());
    assert_eq!(check("printf 12345").expect("it is on the edge").finished.output, b"12345");
    assert!(matches!(check("printf 123456"), Err(Error::TooMuch { .. })));
    let limits = Limits { max_time: Duration::from_millis(400), ..Limits::DEFAULT };
    let mut held = None;
    let error = sh("echo begun >&2; sleep 1000").run_caged(&cage(), b"", &limits, |caging| {
        if let Caging::Held(found) = caging {
            held = Some(found);
        }
    });
    assert!(matches!(error, Err(Error::TooLong { messages, .. }) if messages == "begun\n"));
    assert_eq!(
        held,
        Some(run(&cage(), &sh("exit 0")).expect("it can be caged").held),
        "it is told all the same"
    );
}

#[test]
fn limits_are_those_of_the_process() {
    let limits = CageLimits {
        max_memory: ByteSize::mib(100),
        max_processes: 20,
        max_open_files: 50,
        max_files: ByteSize::mib(1),
        max_cpu: Duration::from_secs(7),
    };
    let text = said(&limited(limits), "cat /proc/self/limits");
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers.first(), numbers.get(1), "it cannot be raised: {line}");
        numbers.first().copied()
    };
    assert_eq!(of("Max data size"), Some(100 << 20));
    assert_eq!(of("Max address space"), Some((100 << 20) + lanai_process::ADDRESS_SPACE.get()));
    assert_eq!(of("Max open files"), Some(50));
    assert_eq!(of("Max file size"), Some(1 << 20));
    assert_eq!(of("Max cpu time"), Some(7));
    assert_eq!(of("Max core file size"), Some(0));
    assert!(of("Max processes") >= Some(20), "ours count as well");
}

#[test]
fn memory_may_reach_its_limit_and_no_more() {
    let cage = limited(CageLimits { max_memory: ByteSize::mib(64), ..CageLimits::DEFAULT });
    // It takes all of a block at once; what it needs beside that is less than a mebibyte.
    let copy = |mebibytes: u32| {
        let line = format!("dd if=/dev/zero of=/dev/null bs={mebibytes}M count=1 && echo done");
        run(&cage, &sh(&line)).expect("it can be caged").finished
    };
    assert_eq!(copy(63).output, b"done\n", "{}", copy(63).messages);
    let beyond = copy(64);
    assert_ne!(beyond.status, Status::Exited(0));
    assert!(beyond.messages.contains("memory"), "{}", beyond.messages);
}

#[test]
fn shared_memory_is_limited_as_well() {
    const TEST: &str = "cage::shared_memory_is_limited_as_well";
    if !Path::new("/usr/bin/python3").exists() {
        return skip(TEST, "this takes python3");
    }
    let cage = limited(CageLimits { max_memory: ByteSize::mib(96), ..CageLimits::DEFAULT });
    let python = |text: &str| {
        let text = format!("import mmap, os, time\n{text}\nprint('done')\n");
        run(&cage, &Command::new("/usr/bin/python3").argument("-c").argument(text))
    };
    let map = |mebibytes: u32| {
        format!(
            "m = mmap.mmap(-1, {mebibytes} << 20)\nfor i in range({mebibytes} << 8): m[i << 12] = 1\ntime.sleep(0.3)"
        )
    };
    let within = python(&map(32)).expect("it is within the limit").finished;
    assert_eq!(within.output, b"done\n", "{}", within.messages);
    let file = "fds = [os.memfd_create('x') for _ in range(4)]\n\
                for fd in fds:\n  for _ in range(64): os.write(fd, b'x' * (1 << 20))\ntime.sleep(60)";
    let children = "if os.fork() == 0 or os.fork() == 0:\n  b = bytearray(b'x') * (64 << 20)\ntime.sleep(60)";
    let memfd = "fd = os.memfd_create('x')\nfor _ in range(60): os.write(fd, b'x' * (1 << 20))";
    // What is mapped and open is there once.
    let both = format!(
        "{memfd}\nm = mmap.mmap(fd, 60 << 20)\nfor i in range(60 << 8): m[i << 12] = 1\ntime.sleep(0.5)"
    );
    let within = python(&both).expect("it is within the limit").finished;
    assert_eq!(within.output, b"done\n", "{}", within.messages);
    // What children share with their parent is there once; one that has ended, and that nobody waited for, takes nothing.
    let shared = "b = bytearray(b'x') * (50 << 20)\nif os.fork() == 0: os._exit(0)\n\
                  if os.fork() == 0 or os.fork() == 0:\n  time.sleep(2)\n  os._exit(0)\ntime.sleep(0.7)";
    let within = python(shared).expect("it is within the limit").finished;
    assert_eq!(within.output, b"done\n", "{}", within.messages);

    let two_kinds = format!("{memfd}\n{}\ntime.sleep(60)", map(60));
    for text in [&*format!("{}\ntime.sleep(60)", map(200)), file, children, &*two_kinds] {
        let error = python(text).expect_err("it takes too much");
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(
            error.to_string().ends_with("it took more than the 96 MiB of memory that are allowed"),
            "{error}"
        );
    }
}

#[test]
fn segments_of_shared_memory_are_limited_by_root() {
    const TEST: &str = "cage::segments_of_shared_memory_are_limited_by_root";
    let setting = || fs::read_to_string("/proc/sys/kernel/shmall").unwrap_or_default();
    let before = setting();
    if !rustix::process::geteuid().is_root()
        || !Path::new("/usr/bin/perl").exists()
        || !has_private_root(TEST)
    {
        return skip(TEST, "this takes root and perl");
    }
    let cage = limited(CageLimits { max_memory: ByteSize::mib(64), ..CageLimits::DEFAULT });
    let segment = |mebibytes: u32| {
        let text = format!("defined(shmget(0, {mebibytes} << 20, 01600)) ? print 'made' : print 'refused'");
        said(&cage, &format!("perl -e \"{text}\""))
    };
    assert_eq!((segment(64).as_str(), segment(65).as_str()), ("made", "refused"));
    assert_eq!(setting(), before, "the machine keeps its own");
}

#[test]
fn time_may_reach_its_limit_and_no_more() {
    let within = |max_time| {
        let limits = Limits { max_time, ..Limits::DEFAULT };
        sh("read line; echo done").run_caged(&cage(), b"line\n", &limits, |_| ())
    };
    let done = within(Duration::MAX).expect("it ends by itself").finished;
    assert_eq!(done.output, b"done\n");
    assert!(matches!(within(Duration::ZERO), Err(Error::TooLong { limit: Duration::ZERO, .. })));
}

#[test]
fn descriptors_may_reach_their_limit_and_no_more() {
    let open = sh("exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null");
    let check = |max_open_files| {
        let caged = run(&limited(CageLimits { max_open_files, ..CageLimits::DEFAULT }), &open);
        caged.expect("it can be caged").finished.status.is_success()
    };
    assert!(check(8), "0 to 7 are eight");
    assert!(!check(7));
}

#[test]
fn files_may_reach_their_limit_and_no_more() {
    if !has_private_root("cage::files_may_reach_their_limit_and_no_more") {
        return;
    }
    let limits = CageLimits { max_files: ByteSize::mib(1), ..CageLimits::DEFAULT };
    let text = "head -c 1048576 /dev/zero > a && echo whole; (head -c 1 /dev/zero > /tmp/b) 2>/dev/null || echo full";
    assert_eq!(said(&limited(limits), text), "whole\nfull\n");
    let text = "(head -c 1048577 /dev/zero > a) 2>/dev/null || echo too large";
    assert_eq!(said(&limited(limits), text), "too large\n");
}

#[test]
fn views_show_files_and_folders_where_they_are_wanted() {
    if !has_private_root("cage::views_show_files_and_folders_where_they_are_wanted") {
        return;
    }
    let desk = tempfile::tempdir().expect("there is room");
    let at = |path: &str| desk.path().join(path);
    fs::create_dir_all(at("folder/inner")).expect("it is ours");
    for (path, text) in [("folder/inner/file", "one"), ("alone", "two"), ("hidden", "three")] {
        fs::write(at(path), text).expect("it is ours");
    }
    std::os::unix::fs::symlink(at("folder"), at("link")).expect("it is ours");
    let view =
        |source: &str, target: &str| View { source: at(source), target: target.into(), access: Access::Read };
    let with = |views| Cage { views, ..cage() };
    let cage = with(vec![view("link", "/shown/here"), view("alone", "/shown/alone"), View::of(at("alone"))]);
    let text = format!("cat /shown/here/inner/file /shown/alone {}; ls /shown", at("alone").display());
    assert_eq!(said(&cage, &text), "onetwotwoalone\nhere\n");
    let text = format!("cat {} 2>/dev/null || echo hidden", at("hidden").display());
    assert_eq!(said(&cage, &text), "hidden\n");

    let refused = |views, text: &str| {
        let error = run(&with(views), &sh("true")).map(|_| ()).expect_err("it cannot be shown").to_string();
        assert!(error.contains(text), "{error}");
    };
    refused(vec![view("nowhere", "/shown")], "No such file or directory");
    refused(vec![view("alone", "relative")], "an absolute path is expected");
    refused(vec![view("alone", "/a/../b")], "an absolute path is expected");
    refused(vec![view("alone", "/")], "an absolute path is expected");
    refused(
        vec![view("alone", "/usr/no-such-place")],
        "there is no such place in the folder that is shown around it",
    );
    assert!(!Path::new("/usr/no-such-place").exists());
}

#[test]
fn what_is_mounted_below_a_view_cannot_be_changed_either() {
    const TEST: &str = "cage::what_is_mounted_below_a_view_cannot_be_changed_either";
    if !has_private_root(TEST) {
        return;
    }
    let desk = tempfile::tempdir().expect("there is room");
    fs::create_dir_all(desk.path().join("real/place")).expect("it is ours");
    std::os::unix::fs::symlink("real", desk.path().join("link")).expect("it is ours");
    let around = View { source: desk.path().into(), target: "/around".into(), access: Access::Read };
    for (target, real) in [("/shown", "/shown"), ("/around/link/place", "/around/real/place")] {
        // Most machines have something below this.
        let view = View { source: "/dev".into(), target: target.into(), access: Access::Read };
        let table = said(&Cage { views: vec![around.clone(), view], ..cage() }, "cat /proc/self/mountinfo");
        let columns = table.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        // Of several at one place the last one is seen.
        let shown = columns.filter(|columns| columns[4].starts_with(real));
        let shown: std::collections::BTreeMap<_, _> = shown.map(|columns| (columns[4], columns[5])).collect();
        if shown.len() < 2 {
            return skip(TEST, "nothing is mounted below /dev on this machine");
        }
        for (place, options) in shown {
            assert!(options.starts_with("ro,"), "{place}: {options}");
        }
    }
}

#[test]
fn what_is_not_held_is_said() {
    let held = run(&cage(), &sh("exit 0")).expect("it can be caged").held;
    let all = lanai_process::Held {
        tree: Tree::PidNamespace,
        network: NetworkHeld::Cut,
        files: FilesHeld::PrivateRoot,
        processes: ProcessesHeld::Own,
        ..held
    };
    assert_eq!(all.shortfalls(Network::None), []);
    let none = lanai_process::Held {
        tree: Tree::ProcessGroup,
        network: NetworkHeld::TcpCut,
        files: FilesHeld::Open,
        processes: ProcessesHeld::NotCounted,
        ..held
    };
    let every = [Shortfall::Tree, Shortfall::Network, Shortfall::Files, Shortfall::Processes];
    assert_eq!(none.shortfalls(Network::None), every);
    assert!(!none.shortfalls(Network::Host).contains(&Shortfall::Network), "what is granted is not missed");
}

#[test]
fn the_caller_has_no_rights_either() {
    let cage = Cage { user: User::Caller, ..cage() };
    let me = rustix::process::geteuid().as_raw();
    assert_eq!(said(&cage, "id -u"), format!("{me}\n"));
    if !has_private_root("cage::the_caller_has_no_rights_either") {
        return;
    }
    // It is asked, not tried: the caller may be root, and the cage may have a hole one day.
    let text = "for path in /proc/sys/kernel/domainname /etc /usr; do [ -w $path ] && echo $path; done; \
                grep CapEff /proc/self/status";
    assert_eq!(said(&cage, text), "CapEff:\t0000000000000000\n");
}

/// Set for the process in which there are no namespaces.
const WITHOUT: &str = "LANAI_TEST_WITHOUT_NAMESPACES";

#[test]
#[allow(clippy::disallowed_methods, reason = "a test starts itself again, on a machine that can do less")]
fn a_machine_without_namespaces() {
    const TEST: &str = "cage::a_machine_without_namespaces";
    if std::env::var_os(WITHOUT).is_some() {
        return without_namespaces();
    }
    let forbid = "for kind in user pid mnt net ipc; do echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 99; done; \
                  exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "sh", "-c", forbid, "sh"]);
    command
        .arg(std::env::current_exe().expect("it runs"))
        .args(["--exact", TEST])
        .env(WITHOUT, "1")
        .current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = match command.output() {
        Ok(output) if output.status.code() != Some(99) => output,
        Ok(_) | Err(_) => {
            return skip(TEST, "this takes `unshare`, and user namespaces that can be forbidden");
        }
    };
    let (text, more) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if more.starts_with("unshare:") {
        return skip(TEST, &more);
    }
    assert!(output.status.success(), "{text}\n{more}");
}

fn without_namespaces() {
    let desk = tempfile::tempdir().expect("there is room");
    let at = |name: &str| desk.path().join(name);
    fs::create_dir(at("tmp")).expect("it is ours");
    fs::write(at("secret"), "hunter2").expect("it is ours");
    fs::write(at("shown"), "fine").expect("it is ours");
    let cage = Cage { temporary: at("tmp"), views: vec![View::of(at("shown"))], ..cage() };

    let strict = Cage { policy: Policy::Strict, ..cage.clone() };
    let error = run(&strict, &sh("echo ran")).expect_err("it cannot be held").to_string();
    assert!(error.starts_with("cannot cage \"/bin/sh\": cannot enter a user namespace"), "{error}");

    let text = "ls -A; echo mine > file; cat file; cat ../../shown; cat ../../secret 2>/dev/null || echo no";
    let caged = run(&cage, &sh(text)).expect("it can be caged");
    let held = caged.held;
    assert_eq!((held.tree, held.processes), (Tree::ProcessGroup, ProcessesHeld::OfUser));
    if held.landlock.is_some() {
        assert_eq!(String::from_utf8_lossy(&caged.finished.output), "mine\nfineno\n");
        assert_eq!(held.files, FilesHeld::Guarded);
    } else {
        assert_eq!(held.files, FilesHeld::Open);
    }
    let left = fs::read_dir(at("tmp")).expect("it is ours").count();
    assert_eq!(left, 0, "the folder of the program is gone");

    let caged =
        run(&cage, &sh("sleep 9999 >/dev/null 2>&1 & echo $!; cat >/dev/null")).expect("it can be caged");
    assert_eq!(caged.finished.status, Status::Exited(0));
    let left = String::from_utf8(caged.finished.output).expect("it is text");
    assert!(is_gone(left.trim()), "what it left behind in its group is ended with it");

    let elsewhere = View { source: at("shown"), target: "/elsewhere".into(), access: Access::Read };
    let moved = Cage { views: vec![elsewhere], ..cage };
    let error = run(&moved, &sh("echo ran")).expect_err("it cannot be shown there").to_string();
    assert!(error.ends_with("cannot be shown as \"/elsewhere\" without a file system of its own"), "{error}");
}

/// Whether a process that was killed ends: the kernel takes a moment for it.
fn is_gone(number: &str) -> bool {
    let pid = number.parse().ok().and_then(rustix::process::Pid::from_raw).expect("it is a number");
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Err(_) => true,
        Ok(process) => {
            let patience = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
            let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut ended, Some(&patience)).expect("it can be waited for") == 1
        }
    }
}
