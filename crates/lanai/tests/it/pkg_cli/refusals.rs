//! What is refused, in the words that people read: what, where and why, and nothing of how the program is made.

use std::fs;
use std::os::unix::fs::symlink;

use super::World;

/// Addresses and places that `get` refuses. The text is what stands behind `error: `, `$R` is the remote.
#[test]
fn addresses_and_places() {
    let world = World::with_web();
    world.write("desk/file", "");
    world.write("desk/full/file", "");
    let repo = world.repo();
    let check = |arguments: &[&str], expected: &str| {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("$R", &repo)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let seen = world.lanai(&[&["get"], arguments.as_slice()].concat());
        let told = seen.stderr.replace(&repo, "$R").replace(&world.path("").display().to_string(), "~/");
        let (_, error) = told.split_once("error: ").unwrap_or(("", &told));
        assert_eq!((seen.code, error), (Some(1), format!("{expected}\n").as_str()), "{arguments:?}");
    };
    check(&[""], "\"\" is no address of a package");
    check(&["$R.git/web@v9", "x"], "repository \"$R\" has no branch or tag \"v9\"");
    check(
        &["$R.git/web@0123abc", "x"],
        "repository \"$R\" has no branch or tag \"0123abc\"\nhint: a commit is found by all of its 40 digits only",
    );
    check(&["$R.git/web@v1@v2"], "at most 1 version permitted");
    check(
        &["$R.git/web@"],
        "there is no version behind the @\nhint: leave the @ out, or name a branch, a tag or a commit",
    );
    check(
        &["$R.git/web@a..b"],
        "the version of repository \"$R\": revision \"a..b\" is no name of a branch or tag, and no commit: git allows no such name",
    );
    let none = "0123456789012345678901234567890123456789";
    check(
        &[&format!("$R.git/web@{none}")],
        &format!("repository \"$R\" has no commit {none}, or does not give it away"),
    );
    let commit = &world.commit_of("v1")[..7];
    check(&["$R.git/none@v1"], &format!("repository \"$R\" has no folder \"none\" in commit {commit}"));
    check(
        &["$R.git/web/deploy.yaml@v1"],
        &format!("repository \"$R\" has no folder \"web/deploy.yaml\" in commit {commit}"),
    );
    check(&["$R.git/../web@v1"], "the folder in the address: path \"../web\" has a segment \".\" or \"..\"");
    check(&["$Rx.git/web@v1"], "\"$Rx\" is no git repository: it does not exist");
    check(
        &["../home.git/web@v1"],
        "\"~/desk/../home\" is no git repository: it has no HEAD, refs and objects",
    );
    check(
        &["git://h/r.git/web"],
        "\"git://h/r\" is no address of a git repository: scheme \"git\" is none of file, http, https, ssh",
    );
    check(&["http://127.0.0.1:1/r.git/web"], "cannot reach \"http://127.0.0.1:1/r\": Connection refused");
    check(
        &["http://h/r/web"],
        "ambiguous repo/dir@version specify '.git' in argument\nhint: write it as REPO.git/FOLDER@VERSION",
    );
    check(&["$R.git/web@v1", "file"], "LOCAL_PKG_DEST must be a directory, and \"~/desk/file\" is none");
    check(&["$R.git/web@v1", "file/x"], "parent directory \"~/desk/file\" is no directory");
    check(&["$R.git/web@v1", "a/b"], "parent directory \"~/desk/a\" does not exist");
    check(&["$R.git/web@v1", "."], "destination directory \"~/desk\" already exists");
    fs::create_dir(world.path("desk/web")).unwrap();
    check(&["$R.git/web@v1"], "destination directory \"~/desk/web\" already exists");
    assert_eq!(world.names("desk"), ["file", "full/file"]);
}

/// A Kptfile that is not as it should be: the file and the line are named.
#[test]
fn kptfiles() {
    let world = World::with_web();
    world.get_web();
    let good = world.read("desk/web/Kptfile");
    let check = |from: &str, to: &str, expected: &str| {
        assert!(good.contains(from), "{good}");
        let text = good.replace(from, to);
        let line = text.lines().position(|line| !good.lines().any(|known| known == line));
        let expected = expected.replace("line N", &format!("line {}", 1 + line.unwrap_or(0)));
        world.write("desk/web/Kptfile", &text);
        world.commit();
        let seen = world.lanai(&["update", "web"]);
        let told = seen.stderr.replace(&world.path("").display().to_string(), "~/");
        let error = told.split_once("error: ").map_or(told.as_str(), |(_, error)| error);
        assert_eq!(
            (seen.code, error),
            (Some(1), format!("file \"~/desk/web/Kptfile\"{expected}\n").as_str())
        );
        assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
    };
    check(&good, "", ": the Kptfile is empty");
    check(&good, " \n", ": the Kptfile is empty");
    check(
        &good,
        "a: [\n",
        ": line 2, column 1: the document ends inside of a flow collection: a closing bracket is missing\n2 | \n  | ^",
    );
    let needed = "where \"kpt.dev/v1\" and \"Kptfile\" are needed";
    check(
        "kind: Kptfile",
        "kind: Other",
        &format!(": line 1: apiVersion is \"kpt.dev/v1\" and kind is \"Other\", {needed}"),
    );
    check(
        "kpt.dev/v1",
        "kpt.dev/v9",
        &format!(": line 1: apiVersion is \"kpt.dev/v9\" and kind is \"Kptfile\", {needed}"),
    );
    let commit = world.commit_of("v1");
    check(
        &commit,
        "abc",
        ", line N: upstreamLock.git.commit: \"abc\" is not a git object id: it takes 40 (or, with SHA-256, 64) lower-case hexadecimal digits",
    );
    check(&world.repo(), "\"\"", ", line N: upstream.git.repo: a git repository must be named here");
    check(
        "directory: /web",
        "directory: ../web",
        ", line N: upstream.git.directory: path \"../web\" has a segment \".\" or \"..\"",
    );
    check(
        "ref: v1",
        "ref: a..b",
        ", line N: upstream.git.ref: revision \"a..b\" is no name of a branch or tag, and no commit: git allows no such name",
    );
    check(
        "updateStrategy: resource-merge",
        "updateStrategy: other",
        ", line N: upstream.updateStrategy: there is no strategy \"other\"; there are resource-merge, fast-forward, force-delete-replace and copy-merge\nhint: --strategy names another one",
    );
    fs::remove_file(world.path("desk/web/Kptfile")).unwrap();
    symlink("../elsewhere", world.path("desk/web/Kptfile")).unwrap();
    let seen = world.lanai(&["update", "web"]);
    assert!(
        seen.stderr.ends_with("web/Kptfile\": it is a symbolic link, where a file is needed\n"),
        "{}",
        seen.stderr
    );
    fs::remove_file(world.path("desk/web/Kptfile")).unwrap();
    fs::write(world.path("desk/web/Kptfile"), [0xff, 0xfe]).unwrap();
    let seen = world.lanai(&["diff", "web"]);
    assert!(seen.stderr.ends_with("web/Kptfile\": it is not UTF-8\n"), "{}", seen.stderr);
}

#[test]
fn a_kptfile_with_other_line_ends_keeps_them() {
    let world = World::with_web();
    world.get_web();
    let text = world.read("desk/web/Kptfile").replace('\n', "\r\n");
    world.write("desk/web/Kptfile", &text);
    world.commit();
    assert_eq!(world.lanai(&["update", "web@v2"]).code, Some(0));
    let expected = text.replace("ref: v1", "ref: v2").replace(&world.commit_of("v1"), &world.commit_of("v2"));
    assert_eq!(world.read("desk/web/Kptfile"), expected);
}

/// Hands a value back for a conflict.
fn check_value(world: &World, good: &str, value: &str, expected: &str) {
    let text = good.replace("chosen: local", &format!("chosen: value\n  value: {value:?}"));
    check_file(world, &text, expected);
}

fn check_file(world: &World, text: &str, expected: &str) {
    world.write("desk/decisions", text);
    let seen = world.lanai(&["update", "web@v2", "--resolve", "decisions"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains(&format!("error: {expected}")), "{expected}\n{}", seen.stderr);
}

/// Kptfiles that are none: the file and the line are named, in words that need no knowledge of programs.
#[test]
fn kptfiles_that_are_none() {
    let world = World::with_web();
    let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";
    let mut number = 0;
    let mut check = |text: &str, expected: &str| {
        number += 1;
        let name = format!("bad{number}");
        world.write(&format!("desk/{name}/Kptfile"), text);
        world.publish(&format!("t{number}"), &[(&format!("{name}/Kptfile"), text)]);
        world.check_failure(
            &["update", &name],
            1,
            &format!("error: file \"~/desk/{name}/Kptfile\":{expected}\n"),
        );
        world.check_failure(
            &["diff", &name],
            1,
            &format!("error: file \"~/desk/{name}/Kptfile\":{expected}\n"),
        );
        let seen = world.lanai(&["get", &world.address(&format!("{name}@t{number}")), "fetched"]);
        let told = format!(
            "error: file \"{name}/Kptfile\" of repository \"{}\" at \"t{number}\":{expected}\n",
            world.repo()
        );
        assert!(seen.stderr.ends_with(&told), "{}", seen.stderr);
    };
    check(&format!("{head}upstrem: {{}}\n"), " line 5: there is no field \"upstrem\" in a Kptfile");
    check(&format!("{head}upstream: 3\n"), " line 5: there is the value \"3\", where an upstream is needed");
    check(&head.replace("web", "[web]"), " line 4: there is a list, where a text is needed");
    check(
        &format!("{head}pipeline:\n  mutators: {{}}\n"),
        " line 6: there is a mapping, where a list, each item a function, is needed",
    );
    check(
        &format!("{head}pipeline:\n  mutators:\n  - image: a\n    configMap: {{a: [1]}}\n  - exes: b\n"),
        "\n  line 8: there is a list, where a text is needed\n  line 9: there is no field \"exes\" in a function",
    );
    check(&format!("{head}kind: Kptfile\n"), " line 5: the key \"kind\" stands on line 2 already");
    check(
        &head.replace("v1", "v9"),
        " line 1: apiVersion is \"kpt.dev/v9\" and kind is \"Kptfile\", where \"kpt.dev/v1\" and \"Kptfile\" are needed",
    );
    check("- a\n", " line 1: a mapping with apiVersion, kind and metadata is needed here");
    check("null\n", " there is nothing in it");
    check(
        "a: [\n",
        " line 2, column 1: the document ends inside of a flow collection: a closing bracket is missing\n2 | \n  | ^",
    );
}

/// What a merge cannot take: the file and the line are named.
#[test]
fn resources_and_rules_that_are_none() {
    let world = World::with_web();
    world.get_web();
    let twice = format!("{0}---\n{0}", super::world::DEPLOYMENT);
    world.write("desk/web/deploy.yaml", &twice);
    world.commit();
    let ends = |seen: &super::Seen, expected: &str| {
        let told = seen.stderr.replace(&world.path("").display().to_string(), "~/");
        assert!(seen.code == Some(1) && told.ends_with(expected), "{told}");
    };
    ends(
        &world.lanai(&["update", "web@v2"]),
        "error: file \"~/desk/web/deploy.yaml\", line 16: apps/Deployment/shop/web is there for the second time; the first one is on line 2\n",
    );
    world.git("desk", &["reset", "-q", "--hard", "HEAD~1"]);
    world.write("desk/web/.krmignore", &format!("a\n{}\n", "x".repeat(5_000)));
    world.commit();
    let long = "line 2: the pattern has more than the 4096 bytes that are allowed\n";
    ends(&world.lanai(&["tree", "web"]), &format!("error: ~/desk/web/.krmignore: {long}"));
    ends(&world.lanai(&["update", "web@v2"]), &format!("error: file \"~/desk/web/.krmignore\": {long}"));
    world.git("desk", &["reset", "-q", "--hard", "HEAD~1"]);
    world.publish(
        "v3",
        &[("web/sub/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  nam: x\n")],
    );
    ends(
        &world.lanai(&["update", "web@v3"]),
        "error: file \"web/sub/Kptfile\" of repository \"file://~/remote\" at \"v3\": line 4: there is no field \"nam\" in the metadata\n",
    );
}

/// Decisions that are none: the line is named.
#[test]
fn decisions() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let check = |text: &str, expected: &str| {
        world.write("desk/decisions", text);
        let seen = world.lanai(&["update", "web@v2", "--resolve", "decisions"]);
        let error = seen.stderr.split_once("error: ").map_or(seen.stderr.as_str(), |(_, error)| error);
        let (error, hint) = error.split_once("\nhint: ").unwrap_or((error, ""));
        assert_eq!((seen.code, error), (Some(1), expected), "{text}");
        assert!(hint.contains("lanai pkg update -o yaml --dry-run"), "{hint}");
        assert_eq!(world.git("desk", &["status", "--porcelain"]), "?? decisions\n");
    };
    let needed = "where the report of an update: package, updates and conflicts is needed";
    check("", &format!("decisions: line 1, column 1: there is nothing, {needed}"));
    check("\n- {}\n", "decisions: line 2, column 3: the field \"id\" is missing");
    check("hello\n", &format!("decisions: line 1, column 1: there is the value \"hello\", {needed}"));
    check("package: web\n", "decisions: line 1, column 1: the field \"updates\" is missing");
    check(
        "package: web\nupdates: []\nconflicts: [a]\n",
        "decisions: line 3, column 13: there is the value \"a\", where a mapping with the fields of a conflict is needed",
    );
    check(
        "package: [a]\nupdates: []\nconflicts: []\n",
        "decisions: line 1, column 10: there is a list, where a text is needed",
    );
    check(
        "package: 3\nupdates: []\nconflicts: []\n",
        "decisions: line 1, column 10: there is the value \"3\", where a text is needed; put it in quotes",
    );
    check(
        "package: web\nupdates: {}\nconflicts: []\n",
        "decisions: line 2, column 10: there is a mapping, where a list is needed",
    );
    check(
        "package: web\nupdates: []\nconflicts:\n",
        "decisions: line 3, column 11: there is nothing, where a list is needed",
    );
    check(
        "package: web\nupdates: []\nconflict: []\n",
        "decisions: line 3, column 1: there is no field \"conflict\" here, only package, updates, files, conflicts",
    );
    check(
        "package: web\nupdates: []\nfiles: {added: [../x]}\nconflicts: []\n",
        "decisions: line 3, column 17: path \"../x\" has a segment \".\" or \"..\"",
    );
    check(
        "package: web\npackage: web\nupdates: []\nconflicts: []\n",
        "decisions: line 2, column 1: the field \"package\" is there twice",
    );
    let seen = world.lanai(&["update", "web@v2", "--policy", "fail", "-o", "yaml"]);
    let good = seen.stdout.replace("chosen: \"\"", "chosen: local");
    let id = super::world::REPLICAS;
    let line = 1 + good.lines().position(|line| line.starts_with("- id: ")).unwrap();
    let unfit = |why: &str| format!("\"decisions\" does not fit:\n  line {line}: conflict \"{id}\": {why}");
    check(
        &good.replace("chosen: local", "chosen: other"),
        &unfit("chosen is \"other\"; it can be upstream, local, original or value"),
    );
    check(&good.replace("chosen: local", "chosen: value"), &unfit("chosen is value, and there is no value"));
    check_value(
        &world,
        &good,
        "[1",
        &format!("decisions: line {line}: the value for conflict \"{id}\" cannot be read: "),
    );
    let again = good[good.find("- id: ").unwrap()..].replace("chosen: local", "chosen: upstream");
    check_file(
        &world,
        &format!("{good}{again}"),
        &format!(
            "decisions: line {}: there are two resolutions for conflict \"{id}\", and they differ",
            good.lines().count() + 1
        ),
    );
    check(
        &good.replace("upstream: \"2\"", "upstream: \"3\""),
        &unfit("the upstream value is another one now"),
    );
    check(
        &good.replace(id, "another"),
        &format!(
            "\"decisions\" does not fit:\n  line {line}: conflict \"another\": there is no such conflict"
        ),
    );
    let commit = world.commit_of("v2");
    check(
        &good.replace(&commit, &world.commit_of("v1")),
        &format!(
            "\"decisions\" does not fit:\n  line 3: package \".\": it was made for the update to commit {}, which is not this one",
            world.commit_of("v1")
        ),
    );
    check(
        &format!("{good}---\n{good}"),
        &format!(
            "decisions: line {0}, column 1: a second document begins here, where one is expected\n{0} | ---\n   | ^",
            good.lines().count() + 1
        ),
    );
}

#[test]
fn what_is_no_package_is_told_with_its_path() {
    let world = World::with_web();
    world.get_web();
    world.write("desk/file", "");
    for command in ["tree", "diff", "update"] {
        world.check_failure(&[command, "none"], 1, "error: cannot open \"none\": there is no such folder\n");
        world.check_failure(&[command, "file"], 1, "error: cannot open \"file\": it is no folder\n");
    }
    world.check_failure(&["init", "file"], 1, "error: \"file\" is a file, where a folder is needed\n");
    world.write("desk/web/bad.yaml", "a: [\n");
    let why = "line 2, column 1: the document ends inside of a flow collection: a closing bracket is missing\n2 | \n  | ^\n";
    world.check_failure(&["tree", "web"], 1, &format!("error: ~/desk/web/bad.yaml: {why}"));
    world.check_failure(
        &["cat", "web"],
        1,
        &format!("error: ~/desk/web/bad.yaml: {why}hint: --raw prints files as they are\n"),
    );
    assert_eq!(world.lanai(&["update", "web@v2"]).code, Some(0), "an update carries it along");
    world.run_in("desk", "sh", &["-c", "touch \"web/$(printf 'o\\377')\""]);
    world.check_failure(&["update", "web"], 1, "error: the name of \"~/desk/web/o\u{fffd}\" is not UTF-8\n");
}

#[test]
fn links_and_submodules_are_left_out_and_named() {
    let world = World::with_web();
    symlink(".", world.path("upstream/web/loop")).unwrap();
    let remote = world.path("remote.git").display().to_string();
    world.git(
        "upstream",
        &["-c", "protocol.file.allow=always", "submodule", "-q", "add", &remote, "web/module"],
    );
    world.publish("v3", &[]);
    let seen = world.lanai(&["get", &world.address("web@v3")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for told in ["[Warn] Ignoring submodule \"module\"\n", "[Warn] Ignoring symlink \"loop\"\n"] {
        assert!(seen.stderr.contains(told), "{}", seen.stderr);
    }
    assert_eq!(world.names("desk/web"), ["Kptfile", "README.md", "deploy.yaml"]);
    symlink(".", world.path("desk/web/loop")).unwrap();
    for command in ["tree", "diff", "cat"] {
        assert_eq!(world.lanai(&[command, "web"]).code, Some(0), "{command}");
    }
}
