//! WASM modules as evaluators have them; `crates/wasm` tests what modules can do.

use std::fs;

use lanai_evaluate::{Error, Evaluator, Failing, Grants, Identity, Outlook};
use lanai_krm::{Resource, ResourceList};
use lanai_runner::{
    Caller, Configured, Exec, ExecLimits, ExecMode, Modules, Native, NativeScope, Programs, Wasm, WasmLimits,
    load_function_configs,
};
use lanai_testkit::MODULE;
use lanai_types::ByteSize;

use crate::{command, failed, image, soon};

fn with_at(request: lanai_evaluate::Request) -> lanai_evaluate::Request {
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web@\n";
    let list = ResourceList { items: vec![Resource::parse(text).unwrap()], ..ResourceList::default() };
    lanai_evaluate::Request { list, ..request }
}

#[tokio::test]
async fn commands_that_end_like_modules_are_modules() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("fn.wasm"), wat::parse_str(MODULE).unwrap()).unwrap();
    let modules = Modules::new(Wasm::new(WasmLimits::DEFAULT), folder.path());
    for line in ["fn.wasm", "./fn.wasm", "'sub/../fn.wasm' # a comment"] {
        let request = with_at(command(line));
        assert_eq!(modules.foresee(&request.function, &Grants::default()), Outlook::Runs, "{line}");
        let answer = modules.evaluate(request, &soon()).await.unwrap();
        assert_eq!((answer.list.items[0].name().unwrap().as_ref(), answer.evaluator), ("web9", "wasm"));
    }
    let error = failed(modules.evaluate(command("fn.wasm a"), &soon()).await.unwrap_err());
    assert_eq!((error.why, error.stderr.as_str()), (Failing::Exit(3), "it was told to fail\n"));
    for other in [command("fn.sh fn.wasm"), command("'"), image("fn.wasm")] {
        assert_eq!(modules.foresee(&other.function, &Grants::default()), Outlook::Unknown);
        assert!(matches!(modules.evaluate(other, &soon()).await, Err(Error::NotFound(_))));
    }
    let missing = command("no.wasm");
    let outlook = modules.foresee(&missing.function, &Grants::default());
    assert!(matches!(&outlook, Outlook::Cannot(why) if why.contains("No such file")), "{outlook:?}");
    let error = modules.evaluate(missing, &soon()).await.unwrap_err();
    assert!(matches!(&error, Error::Infrastructure(why) if why.contains("No such file")), "{error:?}");
    let limits = ExecLimits { max_output: ByteSize::bytes(10), ..ExecLimits::DEFAULT };
    let error = failed(modules.limited(limits).evaluate(command("fn.wasm"), &soon()).await.unwrap_err());
    assert!(matches!(&error.why, Failing::Limit(what) if what.contains("max_output")), "{error:?}");
}

#[tokio::test]
async fn objects_can_name_modules_below_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (configs, programs) = (folder.path().join("configs"), folder.path().join("it's programs"));
    fs::create_dir_all(&configs).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let module = programs.join("own.wasm");
    fs::write(&module, wat::parse_str(MODULE).unwrap()).unwrap();
    fs::write(folder.path().join("outside.wasm"), wat::parse_str(MODULE).unwrap()).unwrap();
    for (name, path, vouched) in
        [("own", "own.wasm", false), ("sure", "own.wasm", true), ("out", "../outside.wasm", true)]
    {
        let object = format!(
            "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\nmetadata:\n  name: {name}\n  annotations: {{lanai.dev/deterministic: '{vouched}'}}\nspec: {{image: {name}, prefixes: [''], binaryExecutor: {{path: {path}, tags: [v1]}}}}\n"
        );
        fs::write(configs.join(format!("{name}.yaml")), object).unwrap();
    }
    let native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
    let exec = Exec { caller: Caller::default(), mode: ExecMode::AsKpt, limits: ExecLimits::default() };
    let configured = Configured::new(native, Programs::Below(exec, programs));
    let (index, problems) = load_function_configs(&configs, "example.com");
    assert!(problems.is_empty(), "{problems:?}");
    configured.assign(index);

    let answer = configured.evaluate(with_at(image("own:v1")), &soon()).await.unwrap();
    assert_eq!((answer.list.items[0].name().unwrap().as_ref(), answer.evaluator), ("web9", "wasm"));
    let identity = async |name: &str| configured.identify(&image(name).function, &Grants::default()).await;
    assert!(matches!(identity("own:v1").await, Identity::Volatile(_)));
    let before = identity("sure:v1").await;
    assert!(matches!(before, Identity::Fixed(_)), "{before:?}");
    fs::write(&module, wat::parse_str(MODULE.replace("(i32.const 57)", "(i32.const 56)")).unwrap()).unwrap();
    assert_ne!(identity("sure:v1").await, before, "another module is another function");
    let answer = configured.evaluate(with_at(image("sure:v1")), &soon()).await.unwrap();
    assert_eq!(answer.list.items[0].name().unwrap(), "web8", "the file that is there now");
    let error = configured.evaluate(with_at(image("out:v1")), &soon()).await.unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("not below the folder")), "{error:?}");
    assert!(matches!(identity("out:v1").await, Identity::Volatile(_)));
}
