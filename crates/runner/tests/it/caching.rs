//! Rendering with what was computed before.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lanai_catalog::{Catalog, Options as CatalogOptions};
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Identity, Outlook, Request, Response};
use lanai_krm::Package;
use lanai_krm::package::{File, ReadOptions};
use lanai_render::{ExecPolicy, Options, Outcome, RenderLimits, Rendered, StatusPolicy};
use lanai_runner::{Caching, Native, NativeScope};
use lanai_types::SafePath;
use tokio_util::sync::CancellationToken;

use crate::{image, soon};

/// Functions that come with the binary, and how often one of them ran. The function `slow` waits.
#[derive(Default)]
struct Counting {
    runs: AtomicUsize,
}

impl Counting {
    fn native() -> Native {
        Native::new(lanai_runner::functions(), NativeScope::Catalog)
    }

    fn take(&self) -> usize {
        self.runs.swap(0, Ordering::SeqCst)
    }
}

fn is_slow(function: &FunctionRef) -> bool {
    function.as_str() == "slow"
}

#[async_trait]
impl Evaluator for Counting {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        if is_slow(&request.function) {
            tokio::time::sleep(Duration::from_millis(300)).await;
            return Ok(Response { list: request.list, ..Response::default() });
        }
        Self::native().evaluate(request, deadline).await
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        Self::native().is_repeatable(function)
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        Self::native().foresee(function, grants)
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        if is_slow(function) {
            return Identity::Fixed(lanai_catalog::digest_of(b"slow"));
        }
        Self::native().identify(function, grants).await
    }
}

/// Functions with a catalog in a folder.
struct Kitchen {
    counting: Arc<Counting>,
    caching: Caching,
}

impl Kitchen {
    fn new(folder: &Path) -> Self {
        let counting = Arc::new(Counting::default());
        let catalog = Catalog::open(folder, CatalogOptions::default()).unwrap();
        let inner = Arc::clone(&counting) as Arc<dyn Evaluator>;
        Self { counting, caching: Caching::new(inner, catalog, "test", "/shop") }
    }

    async fn render(&self, package: &Package) -> Rendered {
        lanai_render::render(package, &options(), &self.caching, &mut ()).await.unwrap()
    }

    fn explained(&self) -> Vec<String> {
        self.caching.take_explained().iter().map(ToString::to_string).collect()
    }
}

fn options() -> Options<'static> {
    Options {
        name: "shop".into(),
        image_prefix: "ghcr.io/kptdev/krm-functions-catalog".into(),
        tags: &(),
        exec: ExecPolicy::Refused,
        grants: Grants::default(),
        read: ReadOptions::default(),
        status: StatusPolicy::Write,
        limits: RenderLimits::default(),
        cancel: CancellationToken::new(),
    }
}

fn package(files: &[(&str, &str)]) -> Package {
    let files = files.iter().map(|(path, text)| (*path, File::from_text(*text)));
    Package::from_entries(files, lanai_types::Limits::default()).unwrap()
}

fn set(package: &mut Package, path: &str, text: &str) {
    package.insert(path.parse::<SafePath>().unwrap(), File::from_text(text)).unwrap();
}

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
  - image: set-namespace:latest
    configMap: {namespace: shop}
    selectors: [{kind: Service}]
  - image: set-labels:latest
    configMap: {team: web}
    selectors: [{kind: Service}]
  - image: starlark:latest
    configPath: script.yaml
    selectors: [{kind: ConfigMap}]
  - image: set-annotations:latest
    configMap: {seen: 'yes'}
    exclude: [{kind: Service}]
    when: resources.exists(r, r.kind == 'ConfigMap')
  - image: set-annotations:latest
    configMap: {never: 'yes'}
    selectors: [{kind: ConfigMap}]
    when: 'false'
  validators:
  - image: kubeconform:latest
    configMap: {ignore_missing_schemas: 'true'}
    selectors: [{kind: Service}]
";
const SCRIPT: &str = "apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: script
  annotations: {config.kubernetes.io/local-config: 'true'}
source: |
  for r in ctx.resource_list[\"items\"]:
    r[\"data\"][\"seen\"] = \"yes\"
  names = [r[\"metadata\"][\"name\"] for r in ctx.resource_list[\"items\"]]
  if \"made\" not in names:
    ctx.resource_list[\"items\"].append({\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"made\"}, \"data\": {\"seen\": \"yes\"}})
";
const WEB: &str = "# The front.\napiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\nspec:\n    ports:\n    - port: 80\n---\n# second\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: 'b'} # kept\n";
const INNER: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: inner\npipeline:\n  mutators:\n  - image: set-labels:latest\n    configMap: {inner: 'true'}\n";

fn shop() -> Package {
    package(&[
        ("Kptfile", KPTFILE),
        ("script.yaml", SCRIPT),
        ("web.yaml", WEB),
        ("windows.yaml", "apiVersion: v1\r\nkind: Service # dos\r\nmetadata:\r\n  name: dos\r\n"),
        ("one.json", "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"json\"}}\n"),
        ("inner/Kptfile", INNER),
        ("inner/a.yaml", "\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: deep\ndata: {}\n"),
        ("README.md", "# shop\n"),
    ])
}

#[track_caller]
fn same(one: &Rendered, other: &Rendered) {
    assert!(one.outcome.failure().is_none(), "{:?}", one.outcome);
    assert!(other.outcome.failure().is_none(), "{:?}", other.outcome);
    let text = |package: &Package| {
        let files = package.iter();
        files
            .map(|(path, file)| format!("{path}\n{}", String::from_utf8_lossy(file.content())))
            .collect::<Vec<_>>()
    };
    assert_eq!(text(&one.package), text(&other.package));
    let items = |rendered: &Rendered| {
        let items = rendered.items.iter();
        items.map(|item| format!("{:?}\n{item}", item.origin())).collect::<Vec<_>>()
    };
    assert_eq!(items(one), items(other));
    assert_eq!(one.results, other.results);
    assert_eq!(one.status, other.status);
    assert_eq!((one.executed, one.packages), (other.executed, other.packages));
    assert_eq!(one.inputs, other.inputs);
}

#[tokio::test]
async fn what_is_remembered_is_what_would_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop();
    let plain = lanai_render::render(&shop, &options(), &Counting::native(), &mut ()).await.unwrap();
    let kitchen = Kitchen::new(folder.path());
    let first = kitchen.render(&shop).await;
    assert_eq!((kitchen.counting.take(), first.recalled), (6, 0), "one of seven is skipped");
    same(&plain, &first);
    // Another process finds it, too.
    let kitchen = Kitchen::new(folder.path());
    let second = kitchen.render(&shop).await;
    assert_eq!((kitchen.counting.take(), second.recalled), (0, 6));
    same(&plain, &second);
    assert_eq!(
        kitchen.explained(),
        [
            "set-labels:latest on shop/inner: not run, the result is known",
            "set-namespace:latest, set-labels:latest on shop: not run, the result is known",
            "starlark:latest on shop: not run, the result is known",
            "set-annotations:latest, set-annotations:latest on shop: not run, the result is known",
            "kubeconform:latest on shop: not run, the result is known",
        ]
    );
}

#[tokio::test]
async fn in_place_the_third_time_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let first = kitchen.render(&shop()).await;
    let second = kitchen.render(&first.package).await;
    kitchen.counting.take();
    let third = kitchen.render(&second.package).await;
    assert_eq!(kitchen.counting.take(), 0, "{:?}", kitchen.explained());
    assert_eq!(third.package, second.package);
}

#[tokio::test]
async fn only_steps_that_see_what_changed_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let mut shop = shop();
    kitchen.render(&shop).await;
    kitchen.counting.take();
    kitchen.explained();
    set(&mut shop, "web.yaml", &WEB.replace("port: 80", "port: 81"));
    kitchen.render(&shop).await;
    assert_eq!(kitchen.counting.take(), 3, "the first step and the validator");
    let explained = kitchen.explained();
    let ran = |at: usize| explained[at].split_once(": ").unwrap().1.to_owned();
    assert_eq!(ran(1), "run: Service \"web\" in web.yaml changed");
    assert!(ran(2).starts_with("not run") && ran(3).starts_with("not run"), "{explained:?}");
    assert_eq!(ran(4), "run: Service \"web\" in web.yaml changed");
}

#[tokio::test]
async fn what_else_counts_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let mut shop = shop();
    kitchen.render(&shop).await;
    kitchen.explained();
    let mut check = async |path: &str, text: &str, expected: &str| {
        set(&mut shop, path, text);
        kitchen.render(&shop).await;
        let explained = kitchen.explained().join("\n");
        assert!(explained.contains(expected), "{explained}");
    };
    let other = KPTFILE.replace("{team: web}", "{team: shop}");
    check("Kptfile", &other, "run: the configuration of set-labels:latest changed").await;
    let other = other.replace(
        "[{kind: Service}]\n  - image: starlark",
        "[{kind: Service, name: web}]\n  - image: starlark",
    );
    check("Kptfile", &other, "run: the selectors of set-labels:latest changed").await;
    check("new.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: new}\n", "\"new\" in new.yaml is new")
        .await;
}

#[tokio::test]
async fn a_kptfile_that_a_step_changes_keeps_its_own_status() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n  - image: set-annotations:latest\n    configMap: {a: b}\n";
    let with_status =
        |status: &str| format!("{kptfile}status:\n  conditions:\n  - type: {status}\n    status: \"True\"\n");
    for status in ["One", "Two"] {
        let shop = package(&[("Kptfile", &with_status(status))]);
        let plain = lanai_render::render(&shop, &options(), &Counting::native(), &mut ()).await.unwrap();
        same(&plain, &kitchen.render(&shop).await);
    }
}

#[tokio::test]
async fn what_failed_is_not_remembered_and_says_what_it_got() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n  - image: set-labels:latest\n    configMap: {a: b}\n  - image: set-namespace:latest\n";
    let shop = package(&[("Kptfile", kptfile), ("web.yaml", WEB)]);
    for _ in 0..2 {
        let begun = std::time::Instant::now();
        let failed = kitchen.render(&shop).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "nobody waits for a lease that was given back");
        let Outcome::Failed(failure) = &failed.outcome else { panic!("{:?}", failed.outcome) };
        let lanai_render::Cause::Function(function) = &failure.cause else { panic!("{failure:?}") };
        let input = function.input.as_ref().unwrap();
        assert!(input.items.iter().any(|item| item.label("a").is_some()), "{input}");
        assert!(kitchen.counting.take() >= 2);
    }
}

#[tokio::test]
async fn of_equal_calls_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    let kitchen = Kitchen::new(folder.path());
    let caching = Arc::new(kitchen.caching);
    let calls = (0..50).map(|_| {
        let caching = Arc::clone(&caching);
        tokio::spawn(async move { caching.evaluate(image("slow"), &soon()).await.unwrap() })
    });
    let calls: Vec<_> = calls.collect();
    let mut by = Vec::new();
    for call in calls {
        let response = call.await.unwrap();
        assert_eq!(response.list.items[0].to_string(), crate::list().items[0].to_string());
        by.push(response.evaluator);
    }
    assert_eq!(kitchen.counting.take(), 1);
    assert_eq!(by.iter().filter(|name| **name == "catalog").count(), 49);
}

#[tokio::test]
async fn a_granted_function_is_not_remembered() {
    let native = Counting::native();
    let function = FunctionRef::Image("starlark:latest".into());
    assert!(matches!(native.identify(&function, &Grants::default()).await, Identity::Fixed(_)));
    let variables = vec![lanai_evaluate::Variable { name: "A".into(), value: "b".into() }];
    let granted = Grants { variables, ..Grants::default() };
    assert!(matches!(native.identify(&function, &granted).await, Identity::Volatile(_)));
    assert_eq!(native.identify(&FunctionRef::Exec("cat".into()), &granted).await, Identity::Unknown);
}
