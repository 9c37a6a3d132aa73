//! `lanai pkg update`, from one version to the next.

use super::World;
use super::world::REPLICAS;

/// The line of the table in which conflicts are shown.
const HEADER: &str = "FILE          RESOURCE                      FIELD           KIND          ORIGINAL   UPSTREAM   LOCAL   CHOSEN     ID\n";

#[test]
fn what_upstream_changed_arrives_and_all_else_stays() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "spec:\n  replicas", "# ours\nspec:\n  paused:   true\n  replicas");
    world.write("desk/web/own.txt", "ours\n");
    world.commit();
    let before = world.read("desk/web/deploy.yaml");
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{seen:?}");
    let (repo, first) = (world.repo(), &world.commit_of("v1")[..7]);
    assert_eq!(
        seen.stderr,
        format!(
            "Package \"web\":\nFetching upstream from {repo}@v2\nFetching origin from {repo}@{first}\n\
             Updating package \"web\" with strategy \"resource-merge\".\n\nUpdated 1 package(s).\n"
        )
    );
    let expected = before.replace("replicas: 1", "replicas: 2").replace("web:1", "web:2");
    assert_eq!(world.read("desk/web/deploy.yaml"), expected);
    let kptfile = world.read("desk/web/Kptfile");
    assert!(kptfile.contains(&format!("ref: v2\n    commit: {}\n", world.commit_of("v2"))), "{kptfile}");
    assert!(kptfile.contains("name: web # as upstream calls it\n"), "{kptfile}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), " M web/Kptfile\n M web/deploy.yaml\n");
    world.commit();
    assert_eq!(world.lanai(&["update", "web"]).code, Some(0));
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "", "a second time changes nothing");
}

#[test]
fn conflicts_are_shown_and_the_policy_decides() {
    for (policy, replicas, chosen) in [("upstream", "2", "upstream"), ("local", "5", "local")] {
        let world = World::with_web();
        world.get_web();
        world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
        world.commit();
        let seen = world.lanai(&["update", "web@v2", "--policy", policy]);
        let row = format!(
            "deploy.yaml   apps/v1 Deployment shop/web   spec.replicas   BothChanged   1          2          5       {chosen:8}   \
             {REPLICAS}\n"
        );
        let header = if chosen == "local" {
            HEADER.replace("CHOSEN     ID", "CHOSEN   ID")
        } else {
            HEADER.to_owned()
        };
        let row = if chosen == "local" { row.replace("local      deploy", "local    deploy") } else { row };
        assert_eq!((seen.code, seen.stdout), (Some(0), header + &row));
        let text = world.read("desk/web/deploy.yaml");
        assert!(text.contains(&format!("replicas: {replicas}   # enough for now\n")), "{text}");
        assert!(text.contains("image:   web:2\n"), "{text}");
    }
}

#[test]
fn the_policy_fail_changes_nothing() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--policy", "fail"]);
    assert_eq!(seen.code, Some(3));
    assert!(seen.stdout.contains("2          5       -        deploy.yaml:"), "{}", seen.stdout);
    assert!(
        seen.stderr.contains("error: 1 conflict(s) are not decided; nothing was changed\nhint: "),
        "{}",
        seen.stderr
    );
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
    world.edit("desk/web/deploy.yaml", "replicas: 5", "replicas: 1");
    world.commit();
    assert_eq!(
        world.lanai(&["update", "web@v2", "--policy", "fail"]).code,
        Some(0),
        "without conflicts it updates"
    );
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    let seen = world.lanai(&["update", "web@v2", "--dry-run"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("--- before/deploy.yaml\n+++ after/deploy.yaml\n"), "{}", seen.stdout);
    assert!(seen.stdout.contains("-        image:   web:1\n+        image:   web:2\n"), "{}", seen.stdout);
    assert!(seen.stdout.contains(HEADER), "{}", seen.stdout);
    assert!(seen.stderr.ends_with("\nWould update 1 package(s).\n"), "{}", seen.stderr);
    assert_eq!(world.git("desk", &["status", "--porcelain"]), " M web/deploy.yaml\n");
    let seen = world.lanai(&["update", "web@v2", "--dry-run", "-o", "json"]);
    assert!(seen.stdout.starts_with("{\n  \"package\": \"web\",\n"), "{}", seen.stdout);
    assert!(
        seen.stdout.contains("\"changed\": [\n      \"Kptfile\",\n      \"deploy.yaml\"\n    ]"),
        "{}",
        seen.stdout
    );
}

#[test]
fn the_strategy_of_the_kptfile_counts_unless_a_flag_is_given() {
    let world = World::with_web();
    let seen = world.lanai(&["get", &world.address("web@v1"), "--strategy", "force-delete-replace"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.write("desk/web/own.txt", "goes");
    world.commit();
    let seen = world.lanai(&["update", "web@v2"]);
    assert!(seen.stderr.contains("with strategy \"force-delete-replace\"."), "{seen:?}");
    assert_eq!(world.names("desk/web"), ["Kptfile", "README.md", "deploy.yaml"]);
    assert!(world.read("desk/web/Kptfile").contains("updateStrategy: force-delete-replace\n"));
    world.commit();
    assert_eq!(world.lanai(&["update", "web@v1", "--strategy", "copy-merge"]).code, Some(0));
    assert!(
        world.read("desk/web/Kptfile").contains("updateStrategy: copy-merge\n"),
        "the flag is for later, too"
    );
    world.edit("desk/web/Kptfile", "copy-merge", "guess");
    world.commit();
    let seen = world.lanai(&["update", "web@v2"]);
    assert!(
        seen.stderr.contains("/Kptfile\", line 11: upstream.updateStrategy: there is no strategy \"guess\""),
        "{seen:?}"
    );
}

#[test]
fn a_fast_forward_is_refused_when_files_were_changed() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--strategy", "fast-forward"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("error: local files have been modified: deploy.yaml"), "{seen:?}");
    world.edit("desk/web/deploy.yaml", "replicas: 5", "replicas: 1");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--strategy", "fast-forward"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
}

#[test]
fn uncommitted_changes_are_not_changed_further() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.write("desk/web/unrelated.txt", "not committed, and not in the way");
    let before = world.read("desk/web/deploy.yaml");
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.ends_with(
            "error: changes in \"deploy.yaml\" are not committed and would be changed further\n\
             hint: commit them first; --force does it after saving copies of these files elsewhere\n"
        ),
        "{}",
        seen.stderr
    );
    assert_eq!(world.read("desk/web/deploy.yaml"), before);
    let seen = world.lanai(&["update", "web@v2", "--force"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let saved = world.path("home/.local/state/lanai/saved/web-1");
    assert!(
        seen.stderr.contains(&format!("saved copies of 2 file(s) in {}\n", saved.display())),
        "{}",
        seen.stderr
    );
    assert_eq!(std::fs::read_to_string(saved.join("deploy.yaml")).unwrap(), before);
    assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
}

#[test]
fn outside_of_git_nothing_changes_without_a_copy() {
    let world = World::with_web();
    let lanai = |arguments: &[&str]| {
        world.run_in("outside", env!("CARGO_BIN_EXE_lanai"), &[&["pkg"], arguments].concat())
    };
    assert_eq!(lanai(&["get", &world.address("web@v1")]).code, Some(0));
    let seen = lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr
            .contains("/outside/web\" is not in git, and \"Kptfile\", \"deploy.yaml\" would change\nhint: "),
        "{}",
        seen.stderr
    );
    assert!(world.read("outside/web/deploy.yaml").contains("web:1"));
    let seen = lanai(&["update", "web@v2", "--force"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("home/.local/state/lanai/saved/web-1/deploy.yaml").contains("web:1"));
    assert!(world.read("outside/web/deploy.yaml").contains("web:2"));
}

#[test]
fn files_come_and_go_and_change_their_mode() {
    let world = World::with_web();
    world.get_web();
    world.write("upstream/web/new/run.sh", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.path("upstream/web/new/run.sh"), mode).unwrap();
    world.publish("v3", &[("web/README.md", "-")]);
    let seen = world.lanai(&["update", "web@v3"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(world.names("desk/web"), ["Kptfile", "deploy.yaml", "new/run.sh"]);
    world.git("desk", &["add", "-A"]);
    assert!(world.git("desk", &["ls-files", "-s", "web/new/run.sh"]).starts_with("100755 "));
}

#[test]
fn bad_input_is_named() {
    let world = World::with_web();
    world.write("desk/plain/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: plain\n");
    world.write("desk/broken/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  nam: x\n");
    world.write("desk/none/a.txt", "");
    world.check_failure(
        &["update", "plain"],
        1,
        "error: file \"~/desk/plain/Kptfile\": package \"plain\" must have an upstream reference\nhint: \"lanai pkg get\" makes packages that have one\n",
    );
    world.check_failure(
        &["update", "nowhere"],
        1,
        "error: cannot open \"nowhere\": there is no such folder\n",
    );
    world.check_failure(&["update", "none"], 1, "error: no Kptfile found at \"~/desk/none\"\n");
    world.check_failure(
        &["update", "broken"],
        1,
        "error: file \"~/desk/broken/Kptfile\": line 4: there is no field \"nam\" in the metadata\n",
    );
    world.check_failure(&["update", "plain@a@b"], 1, "error: at most 1 version permitted\n");
    world.get_web();
    let seen = world.lanai(&["update", "web@v9"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("has no branch or tag \"v9\""), "{seen:?}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
    for wrong in [&["--policy", "x"], &["-o", "x"], &["--strategy", "x"]] {
        assert_eq!(world.lanai(&[&["update", "web"][..], &wrong[..]].concat()).code, Some(2));
    }
}

#[test]
fn changes_are_seen_where_git_was_told_to_look_away() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let world = World::with_web();
        world.get_web();
        world.git("desk", &["update-index", flag, "web/deploy.yaml"]);
        world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
        assert_eq!(world.git("desk", &["status", "--porcelain"]), "", "git looks away");
        let before = world.read("desk/web/deploy.yaml");
        let seen = world.lanai(&["update", "web@v2"]);
        assert_eq!(seen.code, Some(1), "{flag}: {seen:?}");
        assert!(
            seen.stderr.contains("error: changes in \"deploy.yaml\" are not committed"),
            "{}",
            seen.stderr
        );
        assert_eq!(world.read("desk/web/deploy.yaml"), before);
    }
}

#[test]
fn changes_are_seen_below_a_folder_whose_name_is_no_text() {
    let world = World::with_web();
    world.get_web();
    let odd = "cd \"$(printf 'odd\\377')\"";
    let shell = |script: &str| world.run_in("desk", "sh", &["-c", script]);
    assert_eq!(shell("d=$(printf 'odd\\377') && mkdir \"$d\" && mv web \"$d\"").code, Some(0));
    world.commit();
    assert_eq!(shell(&format!("{odd} && sed -i 's/replicas: 1/replicas: 5/' web/deploy.yaml")).code, Some(0));
    let update = format!("{odd} && exec {} pkg update web@v2", env!("CARGO_BIN_EXE_lanai"));
    let seen = shell(&update);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains("error: changes in \"deploy.yaml\" are not committed"), "{}", seen.stderr);
    world.commit();
    let seen = shell(&update);
    assert_eq!(seen.code, Some(0), "{seen:?}");
}

#[test]
fn files_that_git_keeps_in_another_form_are_recorded() {
    let world = World::with_web();
    world.get_web();
    world.write("desk/.gitattributes", "*.yaml text eol=crlf\n");
    let text = world.read("desk/web/deploy.yaml").replace('\n', "\r\n");
    world.write("desk/web/deploy.yaml", &text);
    world.commit();
    assert!(!world.git("desk", &["show", "HEAD:web/deploy.yaml"]).contains('\r'), "git keeps it otherwise");
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    world.commit();
    let text = world.read("desk/web/deploy.yaml");
    world.write("desk/web/deploy.yaml", &text.replace("web:2", "web:mine"));
    let seen = world.lanai(&["update", "web@v1"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains("error: changes in \"deploy.yaml\" are not committed"), "{}", seen.stderr);
}

#[test]
fn what_is_staged_only_is_not_recorded() {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.git("desk", &["add", "-A"]);
    let seen = world.lanai(&["update", "web@v2"]);
    assert!(seen.stderr.contains("error: changes in \"deploy.yaml\" are not committed"), "{seen:?}");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    world.commit();
    std::fs::set_permissions(world.path("desk/web/deploy.yaml"), mode).unwrap();
    let seen = world.lanai(&["update", "web@v2"]);
    assert!(seen.stderr.contains("error: changes in \"deploy.yaml\" are not committed"), "{seen:?}");
    world.git("desk", &["config", "core.fileMode", "false"]);
    assert_eq!(world.lanai(&["update", "web@v2"]).code, Some(0), "git does not look at modes");
}

#[test]
fn a_kptfile_of_upstream_that_cannot_be_read_is_named() {
    let world = World::with_web();
    world.get_web();
    let kptfile = world.read("upstream/web/Kptfile");
    world.publish("v3", &[("web/Kptfile", &format!("{kptfile}unknown: 1\n"))]);
    let repo = world.repo().replace(&world.path("").display().to_string(), "~/");
    let why = "line 7: there is no field \"unknown\" in a Kptfile\n";
    world.check_failure(
        &["update", "web@v3"],
        1,
        &format!(
            "Package \"web\":\nFetching upstream from {repo}@v3\nFetching origin from {repo}@{}\n\
             Updating package \"web\" with strategy \"resource-merge\".\n\
             error: file \"web/Kptfile\" of repository \"{repo}\" at \"v3\": {why}",
            &world.commit_of("v1")[..7]
        ),
    );
    let seen = world.lanai(&["get", &world.address("web@v3"), "other"]);
    assert!(
        seen.stderr.contains(&format!(
            "error: file \"web/Kptfile\" of repository \"{}\" at \"v3\": {why}",
            world.repo()
        )),
        "{}",
        seen.stderr
    );
}

#[test]
fn many_files_that_git_keeps_in_another_form_are_told_apart() {
    // One more than git is asked about at once.
    let paths: Vec<String> = (0..=200).map(|number| format!("web/t{number}.txt")).collect();
    let files = |text: &'static str| paths.iter().map(|path| (path.as_str(), text)).collect::<Vec<_>>();
    let world = World::new();
    world.publish("v1", &files("1\n"));
    world.publish("v2", &files("2\n"));
    world.get_web();
    world.write("desk/.gitattributes", "*.txt text eol=crlf\n");
    for path in &paths {
        world.write(&format!("desk/{path}"), "1\r\n");
    }
    world.commit();
    assert_eq!(world.lanai(&["update", "web@v2"]).code, Some(0));
    assert_eq!(world.read("desk/web/t200.txt"), "2\n");
    for path in &paths {
        world.write(&format!("desk/{path}"), "2\r\n");
    }
    world.commit();
    world.write("desk/web/t150.txt", "mine\r\n");
    let seen = world.lanai(&["update", "web@v1"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("error: changes in \"t150.txt\" are not committed"), "{}", seen.stderr);
}

#[test]
fn under_the_name_of_kpt_what_kpt_ignores_is_no_resource() {
    let world = World::new();
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata: {{a: {value}}}\n")
    };
    let path = "web/deep/sub/x.yaml";
    world.publish("v1", &[("web/.krmignore", "sub/x.yaml\n"), (path, &map("1"))]);
    world.publish("v2", &[(path, &map("2"))]);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), world.path("home/kpt")).unwrap();
    let kpt = world.path("home/kpt").display().to_string();
    let seen = world.run_in("desk", &kpt, &["pkg", "get", &world.address("web@v1")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    world.edit("desk/web/deep/sub/x.yaml", "a: 1", "a: 7");
    world.commit();
    let look = ["pkg", "update", "web@v2", "--dry-run", "-o", "yaml"];
    let seen = world.run_in("desk", env!("CARGO_BIN_EXE_lanai"), &look);
    assert!(seen.stdout.contains("  resource: v1 ConfigMap x\n"), "{}", seen.stdout);
    let seen = world.run_in("desk", &kpt, &look);
    assert!(seen.stdout.contains("  file: deep/sub/x.yaml\n"), "{}", seen.stdout);
    assert!(!seen.stdout.contains("  resource: "), "it is merged as text: {}", seen.stdout);
}
