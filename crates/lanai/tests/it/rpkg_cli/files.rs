//! `pull`, `push` and `edit`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::world::{World, expect, seen};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  level: info\n";
/// A pipeline that sets a namespace.
const PIPELINE: &str = "pipeline:\n  mutators:\n  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1\n    configMap:\n      namespace: shop\n";
/// A pipeline that fails: the function has no configuration.
const BROKEN: &str =
    "pipeline:\n  mutators:\n  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1\n";

fn draft(world: &World, repository: &str) -> String {
    world.repository(repository);
    world.ok(&["rpkg", "init", "web", "--repository", repository, "--workspace", "v1"]);
    format!("{repository}.web.v1")
}

#[test]
fn files_go_to_a_folder_and_back() {
    let world = World::shared();
    let name = draft(&world, "pulled");
    let folder = world.path("pulled-folder");
    let shown = folder.display().to_string();
    expect(&world.run(&["rpkg", "pull", &name, &shown]), 0, "", "");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("Kptfile"))), (0o700, 0o600));
    let metadata = fs::read_to_string(folder.join(".KptRevisionMetadata")).expect("it is there");
    assert!(metadata.starts_with("apiVersion: \"\"\nkind: KptRevisionMetadata\nmetadata:\n  name: pulled.web.v1\n  namespace: default\n  creationTimestamp: "), "{metadata}");
    let there =
        format!("error: directory \"{shown}\" already exists, please delete the directory and retry\n");
    expect(&world.run(&["rpkg", "pull", &name, &shown]), 1, "", &there);

    fs::write(folder.join("map.yaml"), MAP).expect("it can be written");
    let kptfile = fs::read_to_string(folder.join("Kptfile")).expect("it is there");
    fs::write(folder.join("Kptfile"), format!("{kptfile}{PIPELINE}")).expect("it can be written");
    let image = "\"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1\"";
    let pushed = world.run(&["rpkg", "push", &name, &shown]);
    assert_eq!((pushed.code, pushed.stdout.as_str()), (Some(0), "pulled.web.v1 pushed\n"));
    assert!(
        pushed.stderr.starts_with(&format!("[RUNNING] {image}\n[PASS] {image}\n  [Results]:\n    [info]: ")),
        "{:?}",
        pushed.stderr
    );
    let again = world.path("pulled-for-porchctl").display().to_string();
    world.ok(&["rpkg", "pull", &name, &again]);
    let pushed = world.porchctl(&["rpkg", "push", &name, &again]);
    assert_eq!((pushed.code, pushed.stdout.as_str()), (Some(0), "pulled.web.v1 pushed\n"));
    let begin = format!("[RUNNING] {image} \n[PASS] {image}\n[Results]: [");
    assert!(pushed.stderr.starts_with(&begin) && !pushed.stderr.ends_with('\n'), "{:?}", pushed.stderr);
    fs::remove_dir_all(&folder).expect("it is ours");
    world.ok(&["rpkg", "pull", &name, &shown]);
    fs::write(folder.join("map.yaml"), MAP).expect("it can be written");
    let diff = world.ok(&["rpkg", "diff", &name, &shown]);
    assert!(diff.contains("-  namespace: shop"), "the pipeline set it on the server: {diff}");

    // The folder knows what it was pushed as, so that it can be pushed again.
    fs::write(folder.join("map.yaml"), MAP.replace("info", "debug")).expect("it can be written");
    let dry = world.run(&["rpkg", "push", &name, &shown, "--dry-run"]);
    assert!(
        dry.stdout.contains("+  level: debug") && dry.stdout.ends_with("pulled.web.v1 pushed (dry run)\n"),
        "{dry:?}"
    );
    world.ok(&["rpkg", "push", &name, &shown]);

    // Somebody else was quicker.
    world.put(&name, &[("other.txt", "text\n")]);
    let late = world.run(&["rpkg", "push", &name, &shown]);
    assert!(late.code == Some(1) && late.stderr.contains("the object has been modified"), "{late:?}");
    fs::remove_file(folder.join(".KptRevisionMetadata")).expect("it is there");
    let lost = format!(
        "error: \"{shown}\" has no file .KptRevisionMetadata: it is not known which state of pulled.web.v1 it is\nhint: push the folder that \"lanai rpkg pull pulled.web.v1 FOLDER\" made\n"
    );
    expect(&world.run(&["rpkg", "push", &name, &shown]), 1, "", &lost);
    let lost = world.porchctl(&["rpkg", "push", &name, &shown]);
    assert!(
        lost.code == Some(1) && lost.stderr.contains("not found in PackageRevisionResources"),
        "{lost:?}"
    );
}

#[test]
fn a_list_of_resources_goes_out_and_in() {
    let world = World::shared();
    let name = draft(&world, "streamed");
    world.put(&name, &[("map.yaml", MAP)]);
    let list = world.ok(&["rpkg", "pull", &name]);
    assert!(list.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: \"\"\n  kind: KptRevisionMetadata\n"), "{list}");
    assert!(list.contains("config.kubernetes.io/path: map.yaml") && !list.contains("README"), "{list}");
    let changed = list.replace("level: info", "level: debug");
    expect(&seen(world.command(&["rpkg", "push", &name, "-"]), &changed), 0, "streamed.web.v1 pushed\n", "");
    let folder = world.path("streamed-folder");
    world.ok(&["rpkg", "pull", &name, &folder.display().to_string()]);
    assert_eq!(
        fs::read_to_string(folder.join("map.yaml")).expect("it is there"),
        MAP.replace("info", "debug")
    );
    assert!(folder.join("README.md").exists(), "what is no resource stays");
    let late = seen(world.command(&["rpkg", "push", &name, "-"]), &changed);
    assert!(late.code == Some(1) && late.stderr.contains("the object has been modified"), "{late:?}");
    let without = seen(world.command(&["rpkg", "push", &name]), &changed);
    assert!(without.code == Some(2) && without.stderr.contains("write - to read"), "{without:?}");
    assert!(without.stderr.contains("Usage: lanai rpkg push"), "{without:?}");
    let old =
        seen(world.command_as("porchctl", &["rpkg", "push", &name]), &world.ok(&["rpkg", "pull", &name]));
    assert_eq!((old.code, old.stdout.as_str()), (Some(0), "streamed.web.v1 pushed\n"));
    assert!(old.stderr.starts_with("Warning: This way of using stdin will be deprecated"), "{old:?}");
}

#[test]
fn files_that_are_no_text_are_kept_and_refused_to_porchctl() {
    let world = World::shared();
    let name = draft(&world, "binary");
    let folder = world.path("binary-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", &name, &shown]);
    fs::write(folder.join("logo.png"), [0x89, 0xff, 0x00]).expect("it can be written");
    let refused = "Error: file logo.png is not a valid UTF-8 text file: current porch API doesn't support binary files \n";
    expect(&world.porchctl(&["rpkg", "push", &name, &shown]), 1, "", refused);
    world.ok(&["rpkg", "push", &name, &shown]);
    let again = world.path("binary-again");
    world.ok(&["rpkg", "pull", &name, &again.display().to_string()]);
    assert_eq!(fs::read(again.join("logo.png")).expect("it is there"), [0x89, 0xff, 0x00]);
    fs::remove_file(again.join("logo.png")).expect("it is there");
    world.ok(&["rpkg", "push", &name, &again.display().to_string()]);
    let gone = world.path("binary-gone");
    world.ok(&["rpkg", "pull", &name, &gone.display().to_string()]);
    assert!(!gone.join("logo.png").exists());
}

#[test]
fn a_pipeline_that_fails_keeps_nothing() {
    let world = World::shared();
    let name = draft(&world, "broken");
    let folder = world.path("broken-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", &name, &shown]);
    let kptfile = fs::read_to_string(folder.join("Kptfile")).expect("it is there");
    fs::write(folder.join("Kptfile"), format!("{kptfile}{BROKEN}")).expect("it can be written");
    fs::write(folder.join("map.yaml"), MAP).expect("it can be written");
    let failed = world.run(&["rpkg", "push", &name, &shown]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(failed.stderr.contains("Package NOT pushed to remote"), "{}", failed.stderr);
    // The command of the hint shows the same here.
    let hint = failed.stderr.lines().find_map(|line| line.strip_prefix("hint: to run it here: lanai "));
    let again = seen(world.command(&hint.expect("a hint").split(' ').collect::<Vec<_>>()), "");
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("[FAIL]") && again.stderr.contains("lanai fn eval - "), "{again:?}");
    assert!(!world.ok(&["rpkg", "pull", &name]).contains("map.yaml"));
}

#[test]
fn a_draft_is_edited_and_kept_when_somebody_says_so() {
    let world = World::shared();
    let name = draft(&world, "edited");
    world.put(&name, &[("map.yaml", MAP)]);
    let desks = world.path("edited-desks");
    fs::create_dir(&desks).expect("it is new");
    let edit = |editor: &str, arguments: &[&str], answer: &str| {
        let mut command = world.command(&[&["rpkg", "edit", &name], arguments].concat());
        command.env("EDITOR", editor).env("TMPDIR", &desks);
        seen(command, answer)
    };
    let untouched = edit("true", &[], "");
    expect(&untouched, 0, "edited.web.v1 not changed\n", "");
    let dropped = edit("sed -i s/info/warn/", &["map.yaml"], "n\n");
    assert_eq!(dropped.code, Some(1));
    assert!(
        dropped.stdout.contains("+  level: warn") && dropped.stderr.contains("was not changed"),
        "{dropped:?}"
    );
    let kept = edit("sed -i s/info/warn/", &["map.yaml"], "y\n");
    assert!(kept.code == Some(0) && kept.stdout.ends_with("edited.web.v1 edited\n"), "{kept:?}");
    assert!(world.ok(&["rpkg", "pull", &name]).contains("level: warn"));
    let broken = edit("sed -i s/^data/}data/", &["map.yaml", "--yes"], "");
    assert!(broken.code == Some(1) && broken.stderr.contains("error: "), "{broken:?}");
    assert!(world.ok(&["rpkg", "pull", &name]).contains("level: warn"));
    let none = edit("true", &["none.yaml"], "");
    assert!(
        none.stderr.contains("has no file \"none.yaml\"") && none.stderr.contains("map.yaml"),
        "{none:?}"
    );
    let lost = edit("f() { sed -i s/warn/lost/ \"$@\"; false; }; f", &["map.yaml"], "");
    assert_eq!(lost.code, Some(1), "{lost:?}");
    let place = lost.stderr.split("what was edited is in \"").nth(1).and_then(|rest| rest.split('"').next());
    let place = std::path::PathBuf::from(place.unwrap_or_else(|| panic!("it is kept: {lost:?}")));
    assert!(fs::read_to_string(place.join("map.yaml")).expect("it is there").contains("level: lost"));
    fs::remove_dir_all(place).expect("it is ours");
    let failing = edit("false", &[], "");
    assert!(failing.code == Some(1) && failing.stderr.contains("nothing was changed"), "{failing:?}");
    world.publish(&name);
    let published = edit("true", &[], "");
    assert!(
        published.stderr.contains("only drafts are edited") && published.stderr.contains("rpkg copy"),
        "{published:?}"
    );
}

#[test]
fn files_without_resources_stay_when_a_list_is_pushed() {
    let world = World::shared();
    let name = draft(&world, "trivial");
    let files = [
        ("empty.yaml", ""),
        ("comment.yaml", "# nothing yet\n"),
        ("marker.yaml", "---\n"),
        ("map.yaml", MAP),
        ("gone.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: gone\n"),
    ];
    world.put(&name, &files);
    let list = world.ok(&["rpkg", "pull", &name]);
    expect(&seen(world.command(&["rpkg", "push", &name, "-"]), &list), 0, "trivial.web.v1 pushed\n", "");
    let folder = world.path("trivial-folder");
    world.ok(&["rpkg", "pull", &name, &folder.display().to_string()]);
    for (path, text) in files {
        assert_eq!(fs::read_to_string(folder.join(path)).expect(path), text, "{path}");
    }
    // A resource that is left out goes, with its file.
    let list = world.ok(&["rpkg", "pull", &name]);
    let at = list.find("  name: gone\n").expect("it is there");
    let from = list[..at].rfind("\n- ").expect("an item") + 1;
    let to = list[at..].find("\n- ").map_or(list.len(), |end| at + end + 1);
    let shorter = format!("{}{}", &list[..from], &list[to..]);
    expect(&seen(world.command(&["rpkg", "push", &name, "-"]), &shorter), 0, "trivial.web.v1 pushed\n", "");
    let left = world.path("trivial-left");
    world.ok(&["rpkg", "pull", &name, &left.display().to_string()]);
    assert!(!left.join("gone.yaml").exists() && left.join("empty.yaml").exists());
}

#[test]
fn what_a_push_cannot_keep_is_told() {
    let world = World::shared();
    let name = draft(&world, "modes");
    let folder = world.path("modes-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", &name, &shown]);
    fs::write(folder.join("run.sh"), "#!/bin/sh\n").expect("it can be written");
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let warned = world.run(&["rpkg", "push", &name, &shown]);
    let warning = "warning: \"run.sh\" can be run here; the API of packages does not say so, and the server keeps it as a plain file\n";
    expect(&warned, 0, "modes.web.v1 pushed\n", warning);
    std::os::unix::fs::symlink("Kptfile", folder.join("link")).expect("it is new");
    let refused = world.run(&["rpkg", "push", &name, &shown]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("error: \"link\" cannot be pushed"), "{refused:?}");
    assert!(!world.ok(&["rpkg", "pull", &name]).contains("link"), "nothing was pushed");
    let left_out = world.porchctl(&["rpkg", "push", &name, &shown]);
    assert_eq!((left_out.code, left_out.stdout.as_str()), (Some(0), "modes.web.v1 pushed\n"));
    let again = world.path("modes-again");
    world.ok(&["rpkg", "pull", &name, &again.display().to_string()]);
    assert!(again.join("run.sh").exists() && !again.join("link").exists());
}

#[test]
fn a_push_that_is_too_large_says_how_large_and_what_the_limit_is() {
    let world = World::shared();
    let name = draft(&world, "heavy");
    let folder = world.path("heavy-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", &name, &shown]);
    fs::write(folder.join("large.txt"), "x".repeat(7 << 20)).expect("it can be written");
    let output = world.command(&["rpkg", "push", &name, &shown]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["7.1 MiB", "limit is 6291456", "LNA1207"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    // What is below the limit is asked for beforehand, too, and goes through.
    fs::write(folder.join("large.txt"), "x".repeat(2 << 20)).expect("it can be written");
    world.ok(&["rpkg", "push", &name, &shown]);
}
