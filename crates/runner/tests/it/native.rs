//! Functions that come with the binary.

use std::sync::mpsc;
use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Evaluator, Failing};
use lanai_functions::{Doc, Failure, Function, catalog};
use lanai_krm::{Resource, ResourceList, ResultItem};
use lanai_runner::{Native, NativeScope};

use crate::{command, failed, image, soon};

/// A function of a test: what it does is its name.
struct Odd {
    name: &'static str,
    does: fn(&mut ResourceList, &mut String) -> Result<(), Failure>,
}

impl Function for Odd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v1"]
    }

    fn doc(&self) -> Doc {
        Doc { purpose: "", config: &[], example: "", deviations: &[] }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        self.run_aloud(list, &mut String::new())
    }

    fn run_aloud(&self, list: &mut ResourceList, stderr: &mut String) -> Result<(), Failure> {
        (self.does)(list, stderr)
    }
}

static PANICS: Odd = Odd { name: "panics", does: |_, _| panic!("nobody expects this") };
static FAILS: Odd = Odd {
    name: "fails",
    does: |list, stderr| {
        stderr.push_str("trying\n");
        list.results.push(ResultItem { message: "no good".into(), ..ResultItem::default() });
        Err(Failure { message: "no good".into() })
    },
};
static WAITS: Odd = Odd {
    name: "waits",
    does: |_, _| {
        let (_keep, never) = mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_secs(2));
        Ok(())
    },
};

fn odd(scope: NativeScope) -> Native {
    Native::new([&PANICS as &'static dyn Function, &FAILS, &WAITS], scope)
}

#[tokio::test]
async fn a_function_changes_the_list() {
    let native = Native::new(catalog().iter().copied(), NativeScope::Catalog);
    let mut request = image("gcr.io/kpt-fn/set-namespace:v0.4.5");
    let config = "apiVersion: v1\nkind: ConfigMap\ndata: {namespace: prod}\n";
    request.list.function_config = Some(Resource::parse(config).unwrap());
    request.list.results.push(ResultItem { message: "of another function".into(), ..ResultItem::default() });
    let response = native.evaluate(request, &soon()).await.unwrap();
    assert_eq!(
        response.list.items[0].to_string(),
        "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n  namespace: prod\n"
    );
    let messages: Vec<_> = response.list.results.iter().map(|item| item.message.as_str()).collect();
    assert_eq!(messages[0], "namespace [default] updated to \"prod\", 1 value(s) changed");
    assert!(!messages.contains(&"of another function"), "its own results and no others");
    assert_eq!((response.exit_code, response.stderr.as_str()), (0, ""));
}

#[tokio::test]
async fn images_that_are_known() {
    let check = async |scope, name: &str| {
        let native = Native::new(catalog().iter().copied(), scope);
        !matches!(native.evaluate(image(name), &soon()).await, Err(Error::NotFound(_)))
    };
    let digest = format!("no-op@sha256:{}", "0".repeat(64));
    for name in
        ["no-op", "no-op:latest", "gcr.io/kpt-fn/no-op", "ghcr.io/kptdev/krm-functions-catalog/no-op:latest"]
    {
        assert!(check(NativeScope::Catalog, name).await, "{name}");
        assert!(check(NativeScope::AnyPrefix, name).await, "{name}");
    }
    for name in
        ["example.com/mine/no-op", "localhost:5000/no-op:latest", &digest, &format!("gcr.io/kpt-fn/{digest}")]
    {
        assert!(!check(NativeScope::Catalog, name).await, "{name}");
        assert!(check(NativeScope::AnyPrefix, name).await, "{name}");
    }
    for name in ["no-such", "no-op:v99", "example.com/no-op:v99", "", "/", "no-op/"] {
        assert!(!check(NativeScope::Catalog, name).await, "{name}");
        assert!(!check(NativeScope::AnyPrefix, name).await, "{name}");
    }
    let native = Native::new(catalog().iter().copied(), NativeScope::AnyPrefix);
    let error = native.evaluate(command("no-op"), &soon()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "a command line is no image");
}

#[tokio::test]
async fn a_failure_keeps_what_was_said() {
    let failed = failed(odd(NativeScope::Catalog).evaluate(image("fails"), &soon()).await.unwrap_err());
    assert_eq!((failed.why, failed.exit_code), (Failing::Exit(1), 1));
    assert_eq!(failed.stderr, "trying\nno good\n");
    assert_eq!(failed.results[0].message, "no good");
}

#[tokio::test]
async fn a_panic_is_a_failure() {
    let native = odd(NativeScope::Catalog);
    let failed = failed(native.evaluate(image("panics:v1"), &soon()).await.unwrap_err());
    assert_eq!(failed.stderr, "the function \"panics\" panicked: nobody expects this\n");
    assert!(native.evaluate(image("fails"), &soon()).await.is_err(), "and the next one runs");
}

#[tokio::test]
async fn the_deadline_and_its_holder_end_the_waiting() {
    let native = odd(NativeScope::Catalog);
    let short = Deadline::after(Duration::from_millis(20));
    let error = native.evaluate(image("waits"), &short).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { limit, .. } if limit == short.limit), "{error:?}");
    let called_off = soon();
    called_off.cancel.cancel();
    let error = native.evaluate(image("waits"), &called_off).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error:?}");
}
