//! Functions that come with the binary and run what users wrote: the same binary runs them again, in a cage.

use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Evaluator, Failing, FunctionRef, Grants, Request, Response};
use lanai_functions::{Code, Doc, Failure, Function};
use lanai_krm::{Resource, ResourceList};
use lanai_process::Policy;
use lanai_runner::{ExecLimits, Launcher, Native, NativeScope};
use lanai_testkit::{in_time, skip};
use lanai_types::ByteSize;

use super::den::{SERVICE, failed};

/// A function of that name which must not be run in here: the binary has the real one.
struct Elsewhere(&'static str);

impl Function for Elsewhere {
    fn name(&self) -> &'static str {
        self.0
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn doc(&self) -> Doc {
        Doc { purpose: "", config: &[], example: "", deviations: &[] }
    }

    fn code(&self) -> Code {
        Code::Users
    }

    fn run(&self, _: &mut ResourceList) -> Result<(), Failure> {
        Err(Failure { message: "it ran in the wrong place".into() })
    }
}

static FUNCTIONS: [&dyn Function; 2] = [&Elsewhere("set-namespace"), &Elsewhere("starlark")];

/// Runs a function, which ends inside of its limit on time plus a second.
async fn run(name: &str, config: &str, limits: ExecLimits) -> Result<Response, Error> {
    in_time(limits.max_time, async || evaluate(name, config, limits).await).await
}

async fn evaluate(name: &str, config: &str, limits: ExecLimits) -> Result<Response, Error> {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_lanai"), Policy::BestEffort);
    let native = Native::new(FUNCTIONS, NativeScope::Catalog).isolated(launcher, limits);
    let request = Request {
        function: FunctionRef::Image(name.into()),
        list: ResourceList {
            items: vec![Resource::parse(SERVICE).expect("it is a resource")],
            function_config: Some(Resource::parse(config).expect("it is a resource")),
            ..ResourceList::default()
        },
        grants: Grants::default(),
    };
    native.evaluate(request, &Deadline::after(Duration::from_mins(1))).await
}

const PROD: &str = "apiVersion: v1\nkind: ConfigMap\ndata:\n  namespace: prod\n";

#[tokio::test]
async fn a_function_in_a_process_of_its_own() {
    let response = run("set-namespace", PROD, ExecLimits::DEFAULT).await.unwrap();
    assert_eq!(response.list.items[0].to_string(), format!("{SERVICE}  namespace: prod\n"));
    assert!(!response.list.results.is_empty());
}

#[tokio::test]
async fn its_failure_keeps_its_results() {
    let config = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: wrong\n";
    let error = failed(run("set-namespace", config, ExecLimits::DEFAULT).await.unwrap_err());
    assert_eq!((error.why, error.exit_code), (Failing::Exit(1), 1));
    assert!(!error.results.is_empty(), "{}", error.stderr);
}

#[tokio::test]
async fn its_output_is_limited() {
    let limits = ExecLimits { max_output: ByteSize::bytes(50), ..ExecLimits::DEFAULT };
    let error = failed(run("set-namespace", PROD, limits).await.unwrap_err());
    assert!(matches!(error.why, Failing::Limit(_)), "{error:?}");
}

/// Runs a script, if the binary can; else says that the test is skipped.
async fn script(test: &str, script: &str, limits: ExecLimits) -> Option<Result<Response, Error>> {
    let lines = script.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>().concat();
    let config = format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: script\nsource: |\n{lines}"
    );
    let answer = run("starlark", &config, limits).await;
    let said = answer.as_ref().err().map(Error::stderr).unwrap_or_default();
    if said.contains("no function \"starlark\"") {
        skip(test, "the binary has no function \"starlark\"");
        return None;
    }
    Some(answer)
}

#[tokio::test]
async fn a_script_that_means_no_harm() {
    let text = "for item in ctx.resource_list[\"items\"]:\n  item[\"metadata\"][\"name\"] = \"changed\"";
    let answer = script("hostile::isolated::a_script_that_means_no_harm", text, ExecLimits::DEFAULT).await;
    if let Some(answer) = answer {
        assert_eq!(answer.unwrap().list.items[0].to_string(), SERVICE.replace("web", "changed"));
    }
}

#[tokio::test]
async fn a_script_without_an_end() {
    let limits = ExecLimits { max_time: Duration::from_secs(1), ..ExecLimits::DEFAULT };
    let text = "def f():\n  for i in range(1000000):\n    for j in range(1000000):\n      pass\nf()";
    if let Some(answer) = script("hostile::isolated::a_script_without_an_end", text, limits).await {
        // Time is over, or the steps are that a script may take.
        let error = answer.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. } | Error::Failed(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_script_that_wants_two_gibibytes() {
    let limits = ExecLimits { max_memory: ByteSize::mib(64), ..ExecLimits::DEFAULT };
    let text = "def f():\n  x = [\"a\" * 1000000]\n  for i in range(2200):\n    x.append(x[0] + str(i))\nf()";
    if let Some(answer) = script("hostile::isolated::a_script_that_wants_two_gibibytes", text, limits).await {
        // It gets no more memory than it may have, long before it has what it wants.
        let error = failed(answer.unwrap_err());
        assert!(matches!(error.why, Failing::Exit(_) | Failing::Signal(_) | Failing::Limit(_)), "{error:?}");
    }
}

/// One call of a function of the language, which no limit of the script looks into.
#[tokio::test]
async fn scripts_that_want_everything_in_one_call() {
    let limits = ExecLimits {
        max_memory: ByteSize::mib(256),
        max_time: Duration::from_secs(2),
        ..ExecLimits::DEFAULT
    };
    for text in [
        "a = (\"x\" * 10000000).replace(\"x\", \"y\" * 10000000)",
        "a = [1]\nb = [a.extend(a) for i in range(60)]",
        "a = [\"xxxxxxxx\"]\nb = [a.append(a[-1] + a[-1]) for i in range(60)]",
        "a = int(\"9\" * 10000000)",
        "def f():\n  a = [1]\n  for i in range(60):\n    a = [a, a]\n  return str(a)\nf()",
    ] {
        let name = "hostile::isolated::scripts_that_want_everything_in_one_call";
        let Some(answer) = script(name, text, limits).await else { return };
        let error = answer.expect_err(text);
        assert!(matches!(error, Error::Timeout { .. } | Error::Failed(_)), "{text}: {error:?}");
    }
}

#[tokio::test]
async fn a_script_that_dies_halfway() {
    let text = "ctx.resource_list[\"items\"].pop()\nfail(\"no more\")";
    let answer = script("hostile::isolated::a_script_that_dies_halfway", text, ExecLimits::DEFAULT).await;
    if let Some(answer) = answer {
        let error = failed(answer.unwrap_err());
        assert!(error.results.iter().any(|item| item.message.contains("no more")), "{error:?}");
    }
}
