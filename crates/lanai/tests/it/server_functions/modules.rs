//! WASM modules that the server runs, and that a function runner runs for it.

use lanai_testkit::MODULE;
use serde_json::{Value, json};

use crate::api::{Shop, config, eventually, function_runner, kptfile};

#[test]
fn modules_run_on_the_server_and_in_a_function_runner() {
    let away = tempfile::Builder::new().prefix("lanai-away-").tempdir().unwrap();
    let mut runner = function_runner(away.path(), &[("far.wasm", "v1", "")]);
    let module = wat::parse_str(MODULE).unwrap();
    std::fs::write(away.path().join("functions/far.wasm"), &module).unwrap();
    let shop = Shop::open(&["--function-runner", &runner.address]);
    std::fs::write(shop.home.path().join("functions/near.wasm"), &module).unwrap();
    let near = config("near", &json!({"binaryExecutor": {"path": "near.wasm", "tags": ["v1"]}}));
    let near = shop.configure(&near);
    assert_eq!(near["status"]["error"], Value::Null, "{}", near["status"]);

    let name = shop.package("default", "web");
    for image in ["near:v1", "far.wasm:v1"] {
        let settings =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  size: \"1@\"\n";
        let saved = shop.save(&name, &json!({"Kptfile": kptfile("web", &[image]), "cm.yaml": settings}));
        assert_eq!(saved.code, 200, "{image}: {}", saved.body);
        let text = shop.file(&name, "cm.yaml");
        assert!(text.contains("size: \"19\""), "{image}: {text}");
    }
    assert_eq!((shop.runs("configured", "/near:v1"), shop.runs("grpc", "/far.wasm:v1")), (1, 1));
    runner.end();
    eventually("the log says who ran it", || runner.said().contains("evaluator=\"wasm\""));
}
