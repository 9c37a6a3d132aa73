//! Images that the server runs in containers.

use lanai_testkit::podman::{CAT_IMAGE, Podman};
use serde_json::json;

use super::SETTINGS;
use crate::api::{Shop, kptfile};

/// An image whose program adds who it is to what it gets.
const MARK_IMAGE: &str = "localhost/mark:v1";
/// An image whose program fails.
const FAIL_IMAGE: &str = "localhost/fail:v1";

#[test]
fn images_that_nobody_else_knows_run_in_containers() {
    let Some(podman) = Podman::new("server_functions::images_that_nobody_else_knows_run_in_containers")
    else {
        return;
    };
    let mark = r#"["/bin/sh","-c","sed 's/size: \\(.*\\)/size: \\1\\n    by: container/'"]"#;
    podman.image(MARK_IMAGE, mark).unwrap();
    podman.image(FAIL_IMAGE, r#"["/bin/sh","-c","echo no such luck >&2; exit 3"]"#).unwrap();
    let arguments = ["--container-runtime", "podman", "--image-pull-policy", "never"];
    let shop = Shop::open_with(&arguments, podman.environment());
    let name = shop.package("default", "web");
    let pipeline = |image: &str| json!({"Kptfile": kptfile("web", &[image]), "cm.yaml": SETTINGS});
    let saved = shop.save(&name, &pipeline(MARK_IMAGE));
    assert_eq!(saved.code, 200, "{}", saved.body);
    assert!(shop.file(&name, "cm.yaml").contains("by: container"), "{}", shop.file(&name, "cm.yaml"));
    assert_eq!(shop.runs("container", MARK_IMAGE), 1);

    let failed = shop.save(&name, &pipeline(FAIL_IMAGE));
    assert_eq!(failed.code, 422, "{}", failed.body);
    let (reason, message) = &failed.causes()[0];
    assert!(reason == "FunctionFailed" && message.contains("no such luck"), "{}", failed.body);
    let missing = shop.save(&name, &pipeline("localhost/none:v1"));
    assert!(missing.code == 422 && missing.message().contains("localhost/none:v1"), "{}", missing.body);
    drop(shop);
    let left = podman.left();
    assert!(left.is_empty(), "{left:?}");

    // Without the flag nothing runs in containers, whatever the machine has.
    let shop = Shop::open_with(&[], podman.environment());
    let name = shop.package("default", "web");
    let refused = shop.save(&name, &pipeline(CAT_IMAGE));
    assert!(refused.code == 422 && refused.message().contains(CAT_IMAGE), "{}", refused.body);
}
