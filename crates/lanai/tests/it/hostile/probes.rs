//! Functions that look around.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;

use lanai_evaluate::{Error, Mount, MountAccess, Network, Variable};
use lanai_process::{Policy, Shortfall};
use lanai_testkit::skip;

use super::den::{Den, SERVICE};

#[tokio::test]
async fn the_environment() {
    let mut den = Den::new("env >&2; cat");
    den.grants.variables.push(Variable { name: "GRANTED".into(), value: "yes".into() });
    let response = den.run().await.unwrap();
    let mut names: Vec<_> = response.stderr.lines().filter_map(|line| line.split('=').next()).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["GRANTED", "HOME", "LANG", "PATH"], "{}", response.stderr);
    den.is_clean();
}

#[tokio::test]
async fn files() {
    let den = Den::new("");
    let secret = den.path("elsewhere/secret");
    let at_home = den.path("home/.token");
    for path in [&secret, &at_home] {
        fs::write(path, "hunter2").unwrap();
    }
    let (secret, me) = (secret.display(), std::process::id());
    den.write(&format!(
        "cat {secret} >&2; cat \"$HOME/.token\" >&2; cat {proc}/environ >&2; ls /root /home /var >&2\n\
         echo evil > {own}/evil; echo evil > {elsewhere}/evil; [ -w /etc ] && echo open; [ -w /usr ] && echo open\n\
         ls -A . >&2; cp \"$0\" copy && ./copy-is-not-run 2>/dev/null; ls -A . >&2; cat",
        proc = Path::new("/proc").join(me.to_string()).display(),
        own = den.path("own").display(),
        elsewhere = den.path("elsewhere").display(),
    ));
    let response = den.run().await.unwrap();
    if !den.holds(Shortfall::Files, "hostile::probes::files") {
        return;
    }
    assert_eq!(response.list.items[0].to_string(), SERVICE);
    assert!(!response.stderr.contains("hunter2"), "{}", response.stderr);
    assert!(
        response.stderr.ends_with("\ncopy\n"),
        "its folder was empty and can be written to: {}",
        response.stderr
    );
    for place in ["elsewhere/evil", "own/evil"] {
        assert!(!den.path(place).exists(), "{place}");
    }
    den.is_clean();
}

#[tokio::test]
async fn files_that_are_granted() {
    let mut den = Den::new(
        "cat /granted/look/file >&2; echo no > /granted/look/file; echo new > /granted/change/file; cat",
    );
    for name in ["look", "change"] {
        let folder = den.path("elsewhere").join(name);
        fs::create_dir(&folder).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&folder, open).unwrap();
        fs::write(folder.join("file"), "old\n").unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(folder.join("file"), open).unwrap();
    }
    let mount = |name: &str, access| Mount {
        source: den.path("elsewhere").join(name),
        target: Path::new("/granted").join(name),
        access,
    };
    den.grants.mounts = vec![mount("look", MountAccess::ReadOnly), mount("change", MountAccess::ReadWrite)];
    match den.run().await {
        Err(Error::Refused(why)) if why.contains("without a file system of its own") => {
            return skip("hostile::probes::files_that_are_granted", &why);
        }
        answer => assert!(answer.unwrap().stderr.starts_with("old\n")),
    }
    let read = |name: &str| fs::read_to_string(den.path("elsewhere").join(name).join("file")).unwrap();
    assert_eq!((read("look").as_str(), read("change").as_str()), ("old\n", "new\n"));
    den.is_clean();
}

#[tokio::test]
async fn the_network() {
    const TEST: &str = "hostile::probes::the_network";
    if !Path::new("/bin/bash").exists() {
        return skip(TEST, "bash is not there, which can connect");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let (tcp, udp) = (listener.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port());
    let mut den = Den::new(&format!(
        "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/{tcp}; echo x > /dev/udp/127.0.0.1/{udp}; cat'"
    ));
    den.run().await.unwrap();
    if den.holds(Shortfall::Network, TEST) {
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(datagrams.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    den.grants.network = Network::Host;
    den.run().await.unwrap();
    listener.accept().expect("with a grant the same function reaches it");
    assert_eq!(datagrams.recv(&mut [0; 8]).unwrap(), 2);
    den.is_clean();
}

#[tokio::test]
async fn rights() {
    let den = Den::new("grep -E '^(Cap|NoNewPrivs|Uid)' /proc/self/status >&2; ls /dev >&2; cat");
    let response = den.run().await.unwrap();
    let field = |name: &str| {
        let line = response.stderr.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned()
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set} {}", response.stderr);
    }
    assert_eq!(field("NoNewPrivs:"), "1");
    let user = rustix::process::geteuid();
    assert_eq!(field("Uid:"), if user.is_root() { "65534".into() } else { user.as_raw().to_string() });
    assert!(!response.stderr.lines().any(|line| line == "kmsg"), "{}", response.stderr);
    den.is_clean();
}

#[tokio::test]
async fn the_strict_refuse_or_hold_everything() {
    let den = Den::new("echo ran >&2; cat");
    let strict = Den::with_policy(Policy::Strict, "echo ran >&2; cat");
    let answer = strict.run().await;
    den.run().await.unwrap();
    match answer {
        Ok(_) => assert_eq!((strict.launcher.shortfalls(), den.launcher.shortfalls()), (vec![], vec![])),
        Err(Error::Refused(why)) => assert!(!den.launcher.shortfalls().is_empty(), "{why}"),
        Err(other) => panic!("{other:?}"),
    }
    strict.is_clean();
}
