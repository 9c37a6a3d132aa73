//! `lanai pkg get` and `lanai pkg init`.

use super::World;
use super::world::DEPLOYMENT;

#[test]
fn a_package_is_fetched_without_losing_a_byte() {
    let world = World::with_web();
    let seen = world.lanai(&["get", &world.address("web@v1"), "shop"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""));
    let repo = world.repo();
    assert_eq!(
        seen.stderr,
        format!("Package \"shop\":\nFetching {repo}@v1\nAdding package \"web\".\n\nFetched 1 package(s).\n")
    );
    let commit = world.commit_of("v1");
    assert_eq!(
        world.read("desk/shop/Kptfile"),
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop # as upstream calls it\n\
             upstream:\n  type: git\n  git:\n    repo: {repo}\n    directory: /web\n    ref: v1\n  updateStrategy: resource-merge\n\
             upstreamLock:\n  type: git\n  git:\n    repo: {repo}\n    directory: /web\n    ref: v1\n    commit: {commit}\n\
             info:\n  description: a web server\n"
        )
    );
    let marked = DEPLOYMENT
        .replace("metadata:\n", "metadata: # kpt-merge: shop/web\n")
        .replace("  namespace: shop\n", "  namespace: shop\n  annotations:\n    internal.kpt.dev/upstream-identifier: 'apps|Deployment|shop|web'\n");
    assert_eq!(world.read("desk/shop/deploy.yaml"), marked);
    assert_eq!(world.names("desk"), ["shop/Kptfile", "shop/README.md", "shop/deploy.yaml"]);
}

#[test]
fn the_destination_is_where_kpt_puts_it() {
    let world = World::with_web();
    let address = world.address("web@v1");
    let check = |destination: &[&str], file: &str| {
        let seen = world.lanai(&[&["get", address.as_str()], destination].concat());
        assert_eq!(seen.code, Some(0), "{seen:?}");
        assert!(world.path(file).is_file(), "{file}: {:?}", world.names("desk"));
    };
    check(&[], "desk/web/Kptfile");
    check(&["other"], "desk/other/Kptfile");
    check(&["other"], "desk/other/web/Kptfile");
    std::fs::create_dir(world.path("desk/empty")).unwrap();
    check(&["empty"], "desk/empty/web/Kptfile");
    std::fs::create_dir(world.path("desk/here")).unwrap();
    let lanai = env!("CARGO_BIN_EXE_lanai");
    let seen = world.run_in("desk/here", lanai, &["pkg", "get", &address, "."]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("desk/here/Kptfile").contains("name: here"));
    let seen = world.run_in("desk/here", lanai, &["pkg", "get", &address, "."]);
    assert!(seen.stderr.contains("/desk/here\" already exists"), "{seen:?}");
}

#[test]
fn versions_are_branches_tags_and_commits() {
    let world = World::with_web();
    world.git("upstream", &["tag", "web/v9", "v1"]);
    world.git("upstream", &["push", "-q", &world.path("remote.git").display().to_string(), "web/v9"]);
    let first = world.commit_of("v1");
    let check = |address: &str, to: &str, asked: &str, found: &str, commit: &str| {
        let seen = world.lanai(&["get", &world.address(address), to]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let kptfile = world.read(&format!("desk/{to}/Kptfile"));
        let (upstream, lock) = kptfile.split_once("upstreamLock:").unwrap();
        assert!(upstream.contains(&format!("ref: {asked}\n")), "{kptfile}");
        assert!(lock.contains(&format!("ref: {found}\n    commit: {commit}\n")), "{kptfile}");
    };
    check("web", "default", "main", "main", &world.commit_of("v2"));
    check("web@v9", "tag", "v9", "web/v9", &first);
    check(&format!("web@{first}"), "commit", &first, &first, &first);
}

#[test]
fn a_repository_can_be_a_path() {
    let world = World::with_web();
    let remote = world.path("remote").display().to_string();
    let kptfile = |to: &str| world.read(&format!("desk/{to}/Kptfile"));
    assert_eq!(world.lanai(&["get", "../remote.git/web@v1", "a"]).code, Some(0));
    assert_eq!(world.lanai(&["get", &format!("{remote}.git/web@v1"), "b"]).code, Some(0));
    let upstream = world.path("upstream").display().to_string();
    assert_eq!(world.lanai(&["get", &format!("{upstream}/web@v1"), "c"]).code, Some(0));
    assert!(kptfile("b").contains(&format!("repo: {remote}\n")), "{}", kptfile("b"));
    assert!(kptfile("c").contains(&format!("repo: {upstream}\n")), "{}", kptfile("c"));
    world.commit();
    for package in ["a@v2", "b@v2", "c@v2"] {
        let seen = world.run_in("desk", env!("CARGO_BIN_EXE_lanai"), &["pkg", "update", package]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
    }
    let seen = world.run_in("home", env!("CARGO_BIN_EXE_lanai"), &["pkg", "diff", "../desk/a"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{seen:?}");
}

#[test]
fn a_folder_without_a_kptfile_becomes_a_package() {
    let world = World::new();
    world.publish("v1", &[("deep/er/a.yaml", "a: 1\n")]);
    assert_eq!(world.lanai(&["get", &world.address("deep@v1")]).code, Some(0));
    assert!(
        world
            .read("desk/deep/Kptfile")
            .starts_with("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: deep\nupstream:")
    );
    assert_eq!(world.read("desk/deep/er/a.yaml"), "a: 1\n");
    let seen = world.lanai(&["get", &world.address("@v1"), "all", "--strategy", "fast-forward"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let kptfile = world.read("desk/all/Kptfile");
    assert!(
        kptfile.contains("directory: /\n") && kptfile.contains("updateStrategy: fast-forward\n"),
        "{kptfile}"
    );
}

#[test]
fn links_are_left_out_and_named() {
    let world = World::new();
    world.write("upstream/p/a.txt", "a\n");
    std::os::unix::fs::symlink("/etc/passwd", world.path("upstream/p/link")).unwrap();
    world.publish("v1", &[]);
    let seen = world.lanai(&["get", &world.address("p@v1")]);
    assert!(seen.stderr.contains("[Warn] Ignoring symlink \"link\"\n"), "{seen:?}");
    assert_eq!(world.names("desk"), ["p/Kptfile", "p/a.txt"]);
}

#[test]
fn an_instance_knows_its_name() {
    let world = World::with_web();
    let seen = world.lanai(&["get", &world.address("web@v1"), "mine", "--for-deployment"]);
    assert!(seen.stderr.ends_with("\nCustomized package for deployment.\n"), "{seen:?}");
    assert!(world.read("desk/mine/package-context.yaml").ends_with("data:\n  name: mine\n"));
}

#[test]
fn what_cannot_be_fetched_leaves_nothing() {
    let world = World::with_web();
    let repo = world.repo();
    world.write("desk/file", "");
    let get = |rest: &str| world.address(rest);
    world.check_failure(
        &["get", "https://example.com/web"],
        1,
        "error: ambiguous repo/dir@version specify '.git' in argument\nhint: write it as REPO.git/FOLDER@VERSION\n",
    );
    world.check_failure(&["get", &get("web@v1@v2")], 1, "error: at most 1 version permitted\n");
    world.check_failure(
        &["get", &get("web@v1"), "file"],
        1,
        "error: LOCAL_PKG_DEST must be a directory, and \"~/desk/file\" is none\n",
    );
    world.check_failure(
        &["get", &get("web@v1"), "no/such"],
        1,
        "error: parent directory \"~/desk/no\" does not exist\n",
    );
    let seen = world.lanai(&["get", &get("web@v7")]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.contains(&format!("error: repository \"{repo}")) && seen.stderr.contains("\"v7\""),
        "{seen:?}"
    );
    let seen = world.lanai(&["get", &get("nothing@v1")]);
    assert!(seen.stderr.contains("has no folder \"nothing\""), "{seen:?}");
    let seen = world.lanai(&["get", &format!("file://{}/web", world.path("nowhere.git").display())]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    let seen = world.lanai(&["get", &get("web@v1"), "--strategy", "guess"]);
    assert_eq!(seen.code, Some(2), "{seen:?}");
    assert_eq!(world.names("desk"), ["file"]);
}

#[test]
fn a_folder_becomes_a_package() {
    let world = World::new();
    let seen = world.lanai(&[
        "init",
        "a/b",
        "--description",
        "D: x",
        "--keywords",
        "k,l",
        "--site",
        "https://example.com",
    ]);
    assert_eq!(
        (seen.code, seen.stderr.as_str()),
        (
            Some(0),
            "creating package directory a/b\nwriting a/b/Kptfile\nwriting a/b/README.md\nwriting a/b/package-context.yaml\n"
        )
    );
    world.write("desk/a/b/README.md", "mine\n");
    assert_eq!(world.lanai(&["init", "a/b"]).stderr, "", "what is there stays");
    assert_eq!(world.read("desk/a/b/README.md"), "mine\n");
    if World::has_kpt("pkg_cli::get::a_folder_becomes_a_package") {
        std::fs::create_dir_all(world.path("desk/k/b")).unwrap();
        world.kpt(&[
            "init",
            "k/b",
            "--description",
            "D: x",
            "--keywords",
            "k,l",
            "--site",
            "https://example.com",
        ]);
        for file in ["Kptfile", "package-context.yaml"] {
            assert_eq!(
                world.read(&format!("desk/a/b/{file}")),
                world.read(&format!("desk/k/b/{file}")),
                "{file}"
            );
        }
    }
}
