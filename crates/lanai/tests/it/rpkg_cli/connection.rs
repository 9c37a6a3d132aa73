//! How the server is found, and what is said when it is not.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use super::world::{World, expect, seen};

#[test]
fn the_server_is_found_as_kubectl_finds_it() {
    let world = World::shared();
    let file = world.path("data/kubeconfig").display().to_string();
    let get = ["repo", "get", "-o", "name"];
    let usual = world.ok(&get);
    assert_eq!(world.ok(&[&get[..], &["--kubeconfig", &file]].concat()), usual);
    assert_eq!(
        world.ok(&[&get[..], &["--data-dir", &world.path("data").display().to_string()]].concat()),
        usual
    );
    assert_eq!(world.ok(&[&["repo", "--context", "lanai"], &get[1..]].concat()), usual);
    // A list of files, of which one is not there; the variable counts more than the data directory.
    let mut command = world.command(&get);
    command.env("KUBECONFIG", format!("/nowhere/config:{file}")).env("LANAI_DATA_DIR", "/nowhere");
    assert_eq!(seen(command, "").stdout, usual);
    // Certificates in files beside the kubeconfig.
    let folder = world.path("beside");
    fs::create_dir_all(&folder).expect("it can be made");
    let text = fs::read_to_string(&file).expect("it is there");
    let mut changed = String::new();
    for line in text.lines() {
        let (key, value) = line.split_once(": ").unwrap_or((line, ""));
        if let Some(name) = key.strip_suffix("-data") {
            let name = name.trim_start_matches(['-', ' ']);
            let bytes = decode(value.trim());
            fs::write(folder.join(name), bytes).expect("it can be written");
            changed.extend([key.trim_end_matches("-data"), ": ", name, "\n"]);
        } else {
            changed.extend([line, "\n"]);
        }
    }
    assert_ne!(changed, format!("{text}\n"));
    fs::write(folder.join("config"), changed).expect("it can be written");
    let config = folder.join("config").display().to_string();
    assert_eq!(world.ok(&[&get[..], &["--kubeconfig", &config]].concat()), usual);
}

/// Base 64, as far as kubeconfigs need it.
fn decode(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values: Vec<usize> =
        text.bytes().filter_map(|byte| LETTERS.iter().position(|letter| *letter == byte)).collect();
    let mut bytes = Vec::new();
    for group in values.chunks(4) {
        let all = group.iter().fold(0, |sum, value| sum << 6 | value) << (6 * (4 - group.len()));
        let three = [all >> 16, all >> 8, all].map(|value| u8::try_from(value & 0xff).expect("it is a byte"));
        bytes.extend(&three[..group.len() - 1]);
    }
    bytes
}

#[test]
fn what_is_wrong_with_the_connection_is_said() {
    let world = World::shared();
    let get = |arguments: &[&str]| world.run(&[&["rpkg", "get"], arguments].concat());
    expect(
        &get(&["--context", "other"]),
        1,
        "",
        "error: context \"other\" does not exist\nhint: there are lanai\n",
    );
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("it has one");
    let server = format!("http://{closed}");
    expect(
        &get(&["--server", &server]),
        1,
        "",
        &format!(
            "error: cannot reach {server}: nobody listens there\nhint: \"lanai doctor\" looks for the reason\n"
        ),
    );
    let none = get(&["--data-dir", "/nowhere"]);
    assert!(
        none.stderr.contains("\"/nowhere/kubeconfig\" is not there\nhint: start one with lanai serve"),
        "{none:?}"
    );
    let none = get(&["--kubeconfig", "/nowhere/config"]);
    expect(&none, 1, "", "error: the kubeconfig \"/nowhere/config\": there is no such file\n");
    let broken = world.path("broken-config");
    fs::write(&broken, "clusters: [\n").expect("it can be written");
    assert!(get(&["--kubeconfig", &broken.display().to_string()]).stderr.contains("broken-config"));
    let stranger = get(&["--token", "wrong", "--kubeconfig", &broken.display().to_string()]);
    assert_eq!(stranger.code, Some(1));
    let forbidden = get(&["--as", "somebody"]);
    assert!(
        forbidden.code == Some(1) && forbidden.stderr.contains("User \"somebody\" cannot list"),
        "{forbidden:?}"
    );
    assert_eq!(get(&["--request-timeout", "soon"]).code, Some(2));
}

#[test]
fn a_program_may_know_who_we_are() {
    let world = World::shared();
    let config = world.path("exec-config");
    let answer = "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    let text = format!(
        "current-context: c\nclusters: [{{name: c, cluster: {{server: \"http://{address}\"}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         users: [{{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo ''{answer}''']}}}}}}]\n"
    );
    fs::write(&config, text).expect("it can be written");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            let read = stream.read(&mut buffer).expect("it can be read");
            request.extend_from_slice(&buffer[..read]);
        }
        let body =
            "{\"kind\":\"Status\",\"message\":\"that is enough\",\"reason\":\"Forbidden\",\"code\":403}";
        let _ = write!(
            stream,
            "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        String::from_utf8_lossy(&request).into_owned()
    });
    let seen = world.run(&["rpkg", "get", "--kubeconfig", &config.display().to_string()]);
    expect(&seen, 1, "", "error: that is enough\nhint: \"lanai doctor\" says what you may do\n");
    let request = server.join().expect("it ends").to_lowercase();
    assert!(request.contains("authorization: bearer t"), "{request}");
}

#[test]
fn what_takes_long_is_said_and_can_be_stopped() {
    let world = World::shared();
    // A server that takes connections and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let server = format!("http://{}", listener.local_addr().expect("it has one"));
    let mut command = world.command(&["rpkg", "get", "--server", &server]);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut said = std::io::BufReader::new(child.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).expect("it says something");
    assert_eq!(line, "listing packagerevisions\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let late = world.run(&["rpkg", "get", "--server", &server, "--request-timeout", "200ms"]);
    expect(
        &late,
        1,
        "",
        &format!(
            "error: cannot reach {server}: it took too long\nhint: \"lanai doctor\" looks for the reason\n"
        ),
    );
}

#[test]
fn applying_is_the_work_of_others() {
    let world = World::shared();
    let lanai = world.run(&["live", "apply", "my shop", "--dry-run"]);
    let kpt = seen(world.command_as("kpt", &["live", "apply", "my shop", "--dry-run"]), "");
    assert_eq!((lanai.code, kpt.code), (Some(1), Some(1)));
    assert!(kpt.stderr.contains("with kubectl: kpt fn eval 'my shop' "), "{kpt:?}");
    for word in ["argocd app create", "flux create"] {
        assert!(lanai.stderr.contains(word) && kpt.stderr.contains(word), "{lanai:?}");
    }
    assert!(world.run(&["live", "init", "my shop"]).stderr.contains("with kubectl: nothing"));
    if !crate::demo::has_kubectl("lanai::rpkg_cli::connection::applying_is_the_work_of_others") {
        return;
    }
    // The commands that are printed work, also for what clusters do not know.
    world.ok(&["pkg", "init", "my shop"]);
    let files = [
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\n"),
        (
            "config.yaml",
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nsource: \"\"\n",
        ),
    ];
    for (path, text) in files {
        std::fs::write(world.path("my shop").join(path), text).expect("it can be written");
    }
    let follow = |verb: &str| {
        let told = world.run(&["live", verb, "my shop"]).stderr;
        let line = told.lines().find_map(|line| line.strip_prefix("hint: with kubectl: ").map(str::to_owned));
        let line = line.expect("a command").replace("lanai fn", "kpt fn");
        let mut shell = world.shell(&line);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [world.path("bin")].into_iter().chain(std::env::split_paths(&path));
        shell.env("PATH", std::env::join_paths(folders).expect("a list of folders"));
        shell.env("KUBECONFIG", world.path("data/kubeconfig"));
        seen(shell, "")
    };
    for (verb, said) in
        [("apply", "configmap/shop serverside-applied"), ("status", "shop"), ("destroy", "deleted")]
    {
        let done = follow(verb);
        assert!(done.code == Some(0) && done.stdout.contains(said), "{verb}: {done:?}");
    }
}
