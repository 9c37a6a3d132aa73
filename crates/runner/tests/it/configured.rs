//! Functions that `FunctionConfig` objects assign.

use std::fs;

use lanai_evaluate::{Error, Evaluator, Grants, Identity, Outlook};
use lanai_runner::{
    Caller, Configured, Exec, ExecLimits, ExecMode, Native, NativeScope, Programs, load_function_configs,
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
    let configured = Configured::new(native, Programs::Anywhere(exec, programs.clone()));
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

#[tokio::test]
async fn objects_that_others_write_name_programs_below_the_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let (configs, programs) = (folder.path().join("configs"), folder.path().join("programs"));
    fs::create_dir_all(&configs).unwrap();
    fs::create_dir_all(programs.join("sub")).unwrap();
    script(&programs.join("sub"), "own", "cat");
    script(folder.path(), "outside", "cat");
    let paths = [
        ("in", "sub/own".to_owned()),
        ("whole", programs.join("sub/own").display().to_string()),
        ("up", "sub/../../outside".to_owned()),
        ("out", folder.path().join("outside").display().to_string()),
        ("none", "missing".to_owned()),
    ];
    let text: Vec<String> = paths
        .iter()
        .map(|(name, path)| config(name, &format!("binaryExecutor: {{path: '{path}', tags: [v1]}}"), ""))
        .collect();
    fs::write(configs.join("all.yaml"), text.join("---\n")).unwrap();
    let native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
    let caller = Caller { environment: vec![("PATH".into(), "/usr/bin:/bin".into())], folder: "/".into() };
    let exec = Exec { caller, mode: ExecMode::AsKpt, limits: ExecLimits::default() };
    let below = Configured::new(native.clone(), Programs::Below(exec, programs));
    let nowhere = Configured::new(native, Programs::None);
    let (index, problems) = load_function_configs(&configs, PREFIX);
    assert!(problems.is_empty(), "{problems:?}");
    below.assign(index.clone());
    nowhere.assign(index);
    for (name, expected) in [
        ("in", None),
        ("whole", None),
        ("up", Some("it is not below the folder of functions")),
        ("out", Some("it is not below the folder of functions")),
        ("none", Some("No such file")),
    ] {
        let image = image(&format!("{name}:v1"));
        let outlook = below.foresee(&image.function, &Grants::default());
        match (below.evaluate(image.clone(), &soon()).await, expected) {
            (Ok(_), None) => assert_eq!(outlook, Outlook::Runs, "{name}"),
            (Err(error), Some(words)) => {
                assert!(error.to_string().contains(words), "{name}: {error}");
                assert!(
                    matches!(&outlook, Outlook::Cannot(why) if why.contains(words)),
                    "{name}: {outlook:?}"
                );
            }
            (done, _) => panic!("{name}: {done:?}"),
        }
        let error = nowhere.evaluate(image, &soon()).await.unwrap_err();
        assert!(matches!(&error, Error::Refused(why) if why.contains("no folder of functions")), "{error:?}");
    }
}
