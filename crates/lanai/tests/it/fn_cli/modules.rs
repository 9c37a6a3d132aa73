//! WASM modules, as somebody types it.

use std::fs;

use lanai_testkit::MODULE;

use super::{CONFIG, Desk, KPTFILE};

#[test]
fn modules_are_functions_of_pipelines_and_of_commands() {
    let desk = Desk::new();
    desk.write("web/settings.yaml", &CONFIG.replace("blue", "blue@"));
    fs::write(desk.path("fn.wasm"), wat::parse_str(MODULE).expect("it is a module"))
        .expect("it can be written");
    let seen = desk.lanai(&["fn", "eval", "web", "--exec", "./fn.wasm", "--output", "unwrap"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stdout.contains("colour: \"blue9\""), "{}", seen.stdout);
    assert!(seen.stderr.contains("[PASS] \"./fn.wasm\""), "{}", seen.stderr);

    let exec = KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", "exec: ./fn.wasm");
    desk.write("web/Kptfile", &exec);
    let refused = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--allow-exec"), "{}", refused.stderr);
    let seen = desk.lanai(&["fn", "render", "web", "--allow-exec", "--allow-alpha-wasm"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(desk.read("web/settings.yaml").contains("colour: \"blue9\""));

    let failed = desk.lanai(&["fn", "eval", "web", "--exec", "./fn.wasm please"]);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.stderr.contains("it was told to fail") && failed.stderr.contains("Exit code: 3"),
        "{}",
        failed.stderr
    );
    let kpts = wat::parse_str("(module (func (export \"processResourceList\")))").expect("it is a module");
    fs::write(desk.path("fn.wasm"), kpts).expect("it can be written");
    let refused = desk.lanai(&["fn", "eval", "web", "--exec", "./fn.wasm"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("kpt's own WASM interface"), "{}", refused.stderr);
}
