//! Functions that `FunctionConfig` objects assign.

use std::fs;

use lanai_evaluate::{Error, Evaluator, Grants, Identity};
use lanai_runner::{
    Caller, Configured, Exec, ExecLimits, ExecMode, Native, NativeScope, load_function_configs,
};

use crate::{image, script, soon};

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn config(name: &str, spec: &str, annotations: &str) -> String {
    format!(
        "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\nmetadata:\n  name: {name}\n  annotations: {{{annotations}}}\nspec: {{image: {name}, prefixes: [''], {spec}}}\n"
    )
}

#[tokio::test]
async fn images_run_where_a_folder_of_objects_says() {
    let folder = tempfile::tempdir().unwrap();
    let (configs, programs) = (folder.path().join("configs"), folder.path().join("it's programs"));
    fs::create_dir_all(&configs).unwrap();
    fs::create_dir_all(&programs).unwrap();
    script(&programs, "own", "sed 's/name: web/name: other/'");
    let vouched = "lanai.dev/deterministic: 'true'";
    let text = [
        config(
            "mine",
            "goExecutor: {id: set-labels, tags: [v9]}, binaryExecutor: {path: own, tags: [v1]}",
            "",
        ),
        config("sure", "binaryExecutor: {path: own, tags: [v1]}", vouched),
        config("lost", "nativeExecutor: {id: nobody, tags: [v1]}, podExecutor: {tags: [v2]}", ""),
    ];
    fs::write(configs.join("all.yaml"), text.join("---\n")).unwrap();
    fs::write(configs.join("broken.yaml"), "a: [\n").unwrap();
    fs::write(configs.join("notes.txt"), "no object\n").unwrap();
    let native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
    let caller = Caller { environment: vec![("PATH".into(), "/usr/bin:/bin".into())], folder: "/".into() };
    let exec = Exec { caller, mode: ExecMode::AsKpt, limits: ExecLimits::default() };
    let configured = Configured::new(native, exec, &programs);
    assert!(
        matches!(configured.evaluate(image("mine:v1"), &soon()).await, Err(Error::NotFound(_))),
        "nothing yet"
    );
    let (index, problems) = load_function_configs(&configs, PREFIX);
    configured.assign(index);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].config.ends_with("broken.yaml"), "{problems:?}");

    let answer = configured.evaluate(image("mine:v1"), &soon()).await.unwrap();
    assert_eq!((answer.list.items[0].name().unwrap().as_ref(), answer.evaluator), ("other", "exec"));
    let error = configured.evaluate(image("mine:v9"), &soon()).await.unwrap_err();
    assert!(matches!(error, Error::Failed(_)), "it ran, and has no configuration: {error:?}");
    let error = configured.evaluate(image("lost:v1"), &soon()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Infrastructure(text) if text.contains("\"lost\" names the function \"nobody\"")),
        "{error:?}"
    );
    for unknown in ["lost:v2", "lost:v3", "mine:v3", "other:v1"] {
        let error = configured.evaluate(image(unknown), &soon()).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{unknown}: {error:?}");
    }
    let identity = async |name: &str| configured.identify(&image(name).function, &Grants::default()).await;
    assert!(matches!(identity("mine:v1").await, Identity::Volatile(_)));
    assert!(matches!(identity("mine:v9").await, Identity::Fixed(_)));
    let before = identity("sure:v1").await;
    assert!(matches!(before, Identity::Fixed(_)));
    script(&programs, "own", "cat");
    assert_ne!(identity("sure:v1").await, before, "another program is another function");
}
