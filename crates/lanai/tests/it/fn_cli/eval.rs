//! `lanai fn eval`.

use super::{CONFIG, Desk};

#[test]
fn one_function_runs_on_a_folder() {
    let desk = Desk::new();
    let seen = desk.lanai(&[
        "fn",
        "eval",
        "web",
        "-i",
        "set-annotations:v0.1",
        "--match-kind",
        "ConfigMap",
        "--",
        "a=b",
    ]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("on 1 resource(s)\n"), "{}", seen.stderr);
    let expected = CONFIG.replace("# by name\n", "# by name\n  annotations:\n    a: b\n");
    assert_eq!(desk.read("web/settings.yaml"), expected);
    assert!(!desk.read("web/Kptfile").contains("annotations"));
}

#[test]
fn a_function_can_be_kept() {
    let desk = Desk::new();
    let arguments = ["fn", "eval", "web", "-i", "set-annotations:v0.1", "-t", "mutator", "-s", "--", "a=b"];
    let seen = desk.lanai(&arguments);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("set-annotations:v0.1\" as mutator in the Kptfile.\n"), "{}", seen.stderr);
    let kptfile = desk.read("web/Kptfile");
    assert!(
        kptfile.contains("- image: ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1\n"),
        "{kptfile}"
    );
    assert!(kptfile.contains("kind: Kptfile # the root\n"), "{kptfile}");
    let seen = desk.lanai(&arguments);
    assert!(seen.stderr.contains("Updated "), "{}", seen.stderr);
    assert_eq!(desk.read("web/Kptfile"), kptfile);
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let desk = Desk::new();
    for (arguments, text) in [
        (&["fn", "eval", "web"][..], "must specify --image or --exec"),
        (&["fn", "eval", "web", "-i", "no-op", "--exec", "cat"], "--image and --exec are two functions"),
        (&["fn", "eval", "web", "-i", "no-op", "-o", ""], "--output is empty"),
        (&["fn", "eval", "web", "-i", "no-op", "-o", "web/inside"], "is inside of the package"),
        (&["fn", "render", "web", "-o", "web/a/b"], "is inside of the package"),
        (&["fn", "eval", "web", "--exec", "true"], "the function wrote nothing"),
        (&["fn", "eval", "web", "web", "-i", "no-op"], "0 or 1 arguments supported"),
        (&["fn", "eval", "web", "-i", "no-op", "-s"], "--type must be specified"),
        (
            &["fn", "eval", "web", "-i", "no-op", "-s", "-t", "x"],
            "--type must be either `mutator` or `validator`",
        ),
        (
            &["fn", "eval", "web", "-i", "no-op", "--fn-config", "none.yaml"],
            "missing function config file: none.yaml",
        ),
        (
            &["fn", "eval", "web", "-i", "no-op", "--", "A", "B"],
            "args must have keys and values separated by =",
        ),
        (&["fn", "eval", "web", "-i", "no-op", "--match-labels", "x"], "--match-labels \"x\""),
        (&["fn", "eval", "web", "-i", "No-Op"], "is invalid"),
        (&["fn", "eval", "web", "-i", "a", "--image-prefix", "https://x"], "must not include a scheme"),
    ] {
        let seen = desk.lanai(arguments);
        assert_eq!(seen.code, Some(1), "{arguments:?}");
        assert!(seen.stderr.contains(text), "{arguments:?}: {}", seen.stderr);
        assert_eq!(desk.read("web/settings.yaml"), CONFIG);
    }
}

#[test]
fn each_flag_of_a_selector_is_one_pair_as_kpts() {
    let desk = Desk::new();
    let two = CONFIG.replace("  name: settings", "  annotations:\n    zones: a,b\n  name: settings");
    desk.write("web/settings.yaml", &two);
    let eval = |zones: &str| {
        let chosen = ["--match-annotations", zones, "--", "tier=back"];
        let seen = desk.lanai(&[&["fn", "eval", "web", "-i", "set-labels"][..], &chosen].concat());
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        desk.read("web/settings.yaml")
    };
    assert_eq!(eval("zones=a"), two);
    assert!(eval("zones=a,b").contains("tier: back"));
}

#[test]
fn saving_can_be_spelt_out_and_turned_off() {
    let desk = Desk::new();
    let eval = |save: &str| {
        let seen = desk.lanai(&["fn", "eval", "web", "-i", "no-op", save, "-t", "mutator"]);
        assert_eq!(seen.code, Some(0), "{save}: {}", seen.stderr);
        desk.read("web/Kptfile")
    };
    assert!(!eval("--save=false").contains("no-op"));
    assert!(eval("--save=true").contains("no-op"));
}

#[test]
fn a_file_of_the_package_can_configure_it_and_is_not_seen() {
    let desk = Desk::new();
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\ndata:\n  tier: back\n";
    desk.write("web/labels.yaml", config);
    let seen = desk.lanai(&["fn", "eval", "web", "-i", "set-labels", "--fn-config", "web/labels.yaml"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(desk.read("web/labels.yaml"), config);
    assert!(desk.read("web/settings.yaml").contains("tier: back"));
}

#[test]
fn a_single_file_is_enough_and_nothing_else_is_read() {
    let desk = Desk::new();
    // What is beside the file cannot be a package.
    desk.write("web/broken.yaml", "a: [\n");
    desk.write("web/sub/Kptfile", "no: kptfile\n");
    let seen = desk.lanai(&["fn", "eval", "web/settings.yaml", "-i", "set-labels", "--", "tier=back"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(desk.read("web/settings.yaml").contains("tier: back"));
    assert!(!desk.read("web/Kptfile").contains("tier: back"));
    assert!(!desk.path("web/.lanai-change").exists());
    let seen = desk.lanai(&["fn", "source", "web/settings.yaml", "-o", "unwrap"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(seen.stdout, desk.read("web/settings.yaml"));
}

#[test]
fn a_function_on_a_file_overwrites_no_other() {
    let desk = Desk::new();
    desk.write("web/other.yaml", CONFIG);
    desk.write("functions.sh", "");
    let source = "ctx.resource_list[\"items\"].append({\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"n\", \"annotations\": {\"internal.config.kubernetes.io/path\": \"other.yaml\"}}})";
    let argument = format!("source={source}");
    let seen = desk.lanai(&["fn", "eval", "web/settings.yaml", "-i", "starlark", "--", &argument]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("\"other.yaml\" is there already and was not read"), "{}", seen.stderr);
    assert_eq!(desk.read("web/other.yaml"), CONFIG);
}

#[test]
fn a_json_file_stays_as_it_is_but_for_what_changes() {
    let desk = Desk::new();
    let json = "{\n\t\"apiVersion\": \"v1\", \"kind\":\"ConfigMap\",\n\t\"metadata\": { \"name\": \"j\",\n\t\t\"labels\": {\"a\" : \"1\"} },\n\t\"data\": {\"n\": \"0x10\"   }\n}\n";
    desk.write("web/j.json", json);
    let seen = desk.lanai(&["fn", "eval", "web/j.json", "-i", "set-labels", "--", "tier=yes"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(
        desk.read("web/j.json"),
        json.replace("{\"a\" : \"1\"}", "{\"a\" : \"1\", \"tier\": \"yes\"}")
    );
}
