//! `render-helm-chart` with a real helm, where there is one, and what happens before helm is called.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use lanai_evaluate::{Error, Evaluator, Grants, Mount, MountAccess, Network, Request, Response};
use lanai_krm::Resource;
use lanai_runner::{Caller, ExecLimits, ExecMode, Helm, Launcher, Policy, about_helm};
use lanai_testkit::skip;
use tempfile::TempDir;

use crate::{command, failed, image, script, soon};

const IMAGE: &str = "ghcr.io/kptdev/krm-functions-catalog/render-helm-chart:v0.2.2";

/// A folder with the chart `web` in `charts`, and a `PATH`.
struct Desk {
    folder: TempDir,
    path: String,
}

impl Desk {
    /// With the helm of this machine; `None` where there is none, which is said.
    fn with_helm(test: &str) -> Option<Self> {
        let path = std::env::var("PATH").unwrap_or_default();
        if std::env::split_paths(&path).all(|folder| !folder.join("helm").is_file()) {
            skip(&format!("runner::helm::{test}"), "there is no helm in PATH");
            return None;
        }
        Some(Self::new(path))
    }

    fn new(path: String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_chart(&folder.path().join("charts/web"));
        Self { folder, path }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn helm(&self) -> Helm {
        let environment =
            vec![("PATH".into(), self.path.clone().into()), ("TMPDIR".into(), self.path().into())];
        let caller = Caller { environment, folder: self.path().to_owned() };
        Helm { caller, mode: ExecMode::AsKpt, limits: ExecLimits::DEFAULT }
    }

    /// Renders with this configuration.
    async fn render(&self, config: &str) -> Result<Response, Error> {
        self.helm().evaluate(request(config), &soon()).await
    }
}

/// A request with this configuration. Helm is granted, and the folder of charts is mounted where it is looked for.
fn request(config: &str) -> Request {
    let mut request = image(IMAGE);
    request.list.function_config = Some(Resource::parse(config).unwrap());
    let access = MountAccess::ReadOnly;
    let charts = Mount { source: "charts".into(), target: "/tmp/charts".into(), access };
    request.grants = Grants { programs: vec!["helm".into()], mounts: vec![charts], ..Grants::default() };
    request
}

/// A chart with a deployment, a definition and a test.
fn write_chart(folder: &Path) {
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n"),
        ("values.yaml", "replicas: 1\nloud: true\nimage:\n  name: nginx\n  tag: stable\n"),
        (
            "templates/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}-web\n  namespace: {{ .Release.Namespace }}\nspec:\n  \
             replicas: {{ .Values.replicas }}\n  loud: {{ .Values.loud }}\n  image: {{ .Values.image.name }}:{{ .Values.image.tag }}\n  \
             can: {{ .Capabilities.APIVersions.Has \"example.com/v1\" }}\n",
        ),
        (
            "templates/tests/check.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: check\n  annotations: {helm.sh/hook: test}\n",
        ),
        (
            "crds/thing.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n",
        ),
    ];
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// A configuration with these options for the chart `web`.
fn typed(options: &str) -> String {
    format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: RenderHelmChart\nmetadata: {{name: render}}\nhelmCharts:\n- chartArgs: {{name: web}}\n  \
         templateOptions: {{releaseName: shop, skipTests: true, {options}}}\n"
    )
}

fn text(response: &Response) -> String {
    response.list.items.iter().map(Resource::to_string).collect::<Vec<_>>().join("---\n")
}

// ---- before helm is called

#[tokio::test]
async fn only_the_images_of_the_function_are_known() {
    let desk = Desk::new(String::new());
    for request in [image("no-op"), image("render-helm-chart:v9"), command("./render-helm-chart")] {
        let error = desk.helm().evaluate(request, &soon()).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    }
    for known in ["render-helm-chart", "gcr.io/kpt-fn/render-helm-chart:v0.2", IMAGE] {
        let error = desk.helm().evaluate(image(known), &soon()).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error:?}");
    }
}

#[tokio::test]
async fn without_a_grant_helm_is_not_called() {
    let desk = Desk::new(String::new());
    let called = desk.path().join("called");
    script(desk.path(), "helm", &format!("touch {}", called.display()));
    let desk = Desk { path: desk.path().display().to_string(), ..desk };
    let mut asked = request(&typed(""));
    asked.grants.programs = vec!["helmet".into()];
    let error = desk.helm().evaluate(asked, &soon()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "function \"{IMAGE}\" calls the program \"helm\", which is not allowed; allow it with `--allow-program helm`"
        )
    );
    assert!(!called.exists());
}

#[tokio::test]
async fn the_network_has_to_be_granted() {
    let desk = Desk::new(String::new());
    let called = desk.path().join("called");
    script(desk.path(), "helm", &format!("touch {}", called.display()));
    let desk = Desk { path: desk.path().display().to_string(), ..desk };
    let config = "kind: ConfigMap\ndata: {name: other, repo: 'https://charts.example.com'}\n";
    let Err(Error::Refused(why)) = desk.render(config).await else { panic!() };
    assert_eq!(
        why,
        "the chart \"other\" is fetched from \"https://charts.example.com\", which needs the network; allow it with `--allow-network`"
    );
    let config = "kind: ConfigMap\ndata: {name: web, valuesFile: 'https://example.com/values.yaml'}\n";
    let Err(Error::Refused(why)) = desk.render(config).await else { panic!() };
    assert_eq!(
        why,
        "the values \"https://example.com/values.yaml\" are fetched, which needs the network; allow it with `--allow-network`"
    );
    assert!(!called.exists());
}

#[tokio::test]
async fn what_is_wrong_is_a_result() {
    let desk = Desk::new(String::new());
    script(desk.path(), "helm", "echo it is broken >&2; exit 3");
    let desk = Desk { path: desk.path().display().to_string(), ..desk };
    let cases = [
        (
            "kind: Other\n",
            "failed to configure function: `functionConfig` must be `ConfigMap` or `RenderHelmChart`",
        ),
        (
            &*typed("values: {valuesMerge: both}"),
            "failed to configure function: valuesMerge must be one of [merge override replace]",
        ),
        (
            "kind: ConfigMap\ndata: {name: other}\n",
            "failed to run function: failed to run generator: there is no chart \"other\" in \"tmp/charts\", and no `repo` to fetch it from; \
             mount the folder of charts there",
        ),
        (
            "kind: ConfigMap\ndata: {name: ../../etc}\n",
            "failed to run function: failed to run generator: there is no chart \"../../etc\" in \"tmp/charts\", and no `repo` to fetch it from; \
             mount the folder of charts there",
        ),
        (
            "kind: ConfigMap\ndata: {name: web, valuesFile: /etc/passwd}\n",
            "failed to run function: failed to run generator: could not read provided values file \"/etc/passwd\": there is no such file in the \
             mounts",
        ),
        (
            "kind: RenderHelmChart\nhelmCharts: [{chartArgs: {name: web, auth: {kind: Secret, name: key}}}]\n",
            "failed to run function: could not find Secret \"default/key\" identified by auth",
        ),
        (
            "kind: ConfigMap\ndata: {name: web}\n",
            "failed to run function: failed to run generator: unable to run: 'helm template': exit code 3: it is broken",
        ),
    ];
    for (config, why) in cases {
        let error = failed(desk.render(config).await.unwrap_err());
        assert_eq!(error.results[0].message, why, "{config}");
        assert_eq!(error.stderr, format!("{why}\n"), "{config}");
        assert_eq!(error.exit_code, 1);
    }
}

#[tokio::test]
async fn a_missing_helm_is_no_fault_of_the_function() {
    let desk = Desk::new("/nowhere".into());
    let Err(Error::Infrastructure(why)) = desk.render(&typed("")).await else { panic!() };
    assert!(why.contains("\"helm\": there is no such program in the folders of PATH; install helm"), "{why}");
}

#[tokio::test]
async fn helm_has_an_environment_and_a_folder_of_its_own() {
    let desk = Desk::new(String::new());
    script(desk.path(), "helm", "env | sort | sed 's/^/# /' >&2; printf '%s\\n' \"$@\" >&2");
    let desk = Desk { path: desk.path().display().to_string(), ..desk };
    let config = typed("description: '-x', apiVersions: ['a,b'], values: {valuesInline: {a: 1}}");
    let said = desk.render(&config).await.unwrap().stderr;
    let names: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("# ")?.split('=').next()).collect();
    let own = ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_REPOSITORY_CONFIG", "HOME"];
    let shell = ["OLDPWD", "PWD", "SHLVL", "_"];
    assert_eq!(names.into_iter().filter(|name| !shell.contains(name)).collect::<Vec<_>>(), own);
    let words: Vec<&str> = said.lines().filter(|line| !line.starts_with("# ")).collect();
    let chart = desk.path().join("charts/web").display().to_string();
    assert_eq!(words[0..4], ["template", "--description=-x", "--api-versions=\"a,b\"", "--skip-tests"]);
    assert!(words[4].starts_with("--values=") && words[4].ends_with("values.json"), "{words:?}");
    assert_eq!(words[5..], ["--", "shop", &chart]);
    let left = fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["charts", "helm"], "the folder of the session is gone");
}

#[test]
fn it_says_what_it_is() {
    let about = about_helm();
    let example = Resource::parse(about.doc().example).unwrap();
    assert!(example.kind().is_some_and(|kind| kind == "RenderHelmChart"));
    let mut list = crate::list();
    assert!(about.run(&mut list).unwrap_err().message.contains("helm"), "it is not run without an evaluator");
}

// ---- with helm

#[tokio::test]
async fn a_chart_is_rendered_and_added() {
    let Some(desk) = Desk::with_helm("a_chart_is_rendered_and_added") else { return };
    let response = desk.render(&typed("namespace: prod, apiVersions: [example.com/v1]")).await.unwrap();
    assert_eq!(
        text(&response),
        "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n---\n---\n# Source: web/templates/deployment.yaml\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop-web\n  namespace: prod\nspec:\n  replicas: 1\n  loud: true\n  image: \
         nginx:stable\n  can: true\n"
    );
    assert!(response.list.results.is_empty());
    let mut again = request(&typed("namespace: prod"));
    again.list.items = response.list.items.clone();
    let again = desk.helm().evaluate(again, &soon()).await.unwrap();
    assert_eq!(text(&again), text(&response), "what is there is not added again");
}

#[tokio::test]
async fn definitions_and_tests_are_part_of_it_when_asked_for() {
    let Some(desk) = Desk::with_helm("definitions_and_tests_are_part_of_it_when_asked_for") else { return };
    let config = "kind: ConfigMap\ndata: {name: web, includeCRDs: 'true', namespace: prod}\n";
    let response = desk.render(config).await.unwrap();
    let ids: Vec<String> =
        response.list.items.iter().map(|item| format!("{} {}", item.id().kind, item.id().name)).collect();
    assert_eq!(
        ids,
        [
            "Service web",
            "CustomResourceDefinition things.example.com",
            "Deployment release-name-web",
            "Pod check"
        ]
    );
}

#[tokio::test]
async fn inline_values_win() {
    let Some(desk) = Desk::with_helm("inline_values_win") else { return };
    fs::write(desk.path().join("charts/one.yaml"), "replicas: 10\nimage: {tag: one}\n").unwrap();
    fs::write(desk.path().join("charts/two.yaml"), "replicas: 20\nimage: {name: two, tag: two}\n").unwrap();
    let files = "valuesFiles: [tmp/charts/one.yaml, /tmp/charts/two.yaml]";
    let inline = "valuesInline: {loud: false, image: {tag: inline}}";
    let check = async |values: &str, expected: [&str; 3]| {
        let response = desk.render(&typed(&format!("values: {{{values}}}"))).await.unwrap();
        let spec = response.list.items[1].root().get("spec").unwrap();
        let found = ["replicas", "loud", "image"].map(|key| spec.get(key).unwrap().value().into_owned());
        assert_eq!(found, expected, "{values}");
    };
    check(inline, ["1", "false", "nginx:inline"]).await;
    check(&format!("{files}, {inline}"), ["10", "false", "two:inline"]).await;
    check(&format!("{files}, {inline}, valuesMerge: override"), ["10", "false", "two:inline"]).await;
    check(&format!("{files}, {inline}, valuesMerge: merge"), ["20", "false", "two:two"]).await;
    check(&format!("{inline}, valuesMerge: merge"), ["1", "true", "nginx:stable"]).await;
    check(&format!("{files}, {inline}, valuesMerge: replace"), ["1", "false", "nginx:inline"]).await;
    check(files, ["10", "true", "two:one"]).await;
}

#[tokio::test]
async fn a_chart_needs_no_values() {
    let Some(desk) = Desk::with_helm("a_chart_needs_no_values") else { return };
    fs::remove_file(desk.path().join("charts/web/values.yaml")).unwrap();
    let config = typed("values: {valuesInline: {image: {name: a, tag: b}}, valuesMerge: merge}");
    assert!(text(&desk.render(&config).await.unwrap()).contains("image: a:b"));
}

#[tokio::test]
async fn a_broken_chart_fails_with_the_words_of_helm() {
    let Some(desk) = Desk::with_helm("a_broken_chart_fails_with_the_words_of_helm") else { return };
    fs::write(desk.path().join("charts/web/templates/bad.yaml"), "{{ .Values.a.b.c }}\n").unwrap();
    let error = failed(desk.render(&typed("")).await.unwrap_err());
    let message = &error.results[0].message;
    assert!(
        message.starts_with(
            "failed to run function: failed to run generator: unable to run: 'helm template': exit code 1: "
        ),
        "{message}"
    );
    assert!(message.contains("bad.yaml"), "{message}");
}

#[tokio::test]
async fn a_chart_is_rendered_in_a_cage() {
    const TEST: &str = "a_chart_is_rendered_in_a_cage";
    let Some(desk) = Desk::with_helm(TEST) else { return };
    let own = std::env::current_exe().unwrap();
    let launcher = own.ancestors().nth(2).unwrap().join("lanai-process-launcher");
    if !launcher.is_file() {
        skip(&format!("runner::helm::{TEST}"), "the launcher of lanai-process is not built");
        return;
    }
    let mut helm = desk.helm();
    helm.mode = ExecMode::Caged(Launcher::new(launcher, Policy::BestEffort));
    let response =
        helm.evaluate(request(&typed("values: {valuesInline: {replicas: 7}}")), &soon()).await.unwrap();
    assert!(text(&response).contains("replicas: 7"), "{}", text(&response));
}

#[tokio::test]
async fn a_chart_is_fetched_with_a_password() {
    let Some(desk) = Desk::with_helm("a_chart_is_fetched_with_a_password") else { return };
    let served = desk.path().join("served");
    let helm =
        std::env::split_paths(&desk.path).map(|folder| folder.join("helm")).find(|path| path.is_file());
    for arguments in
        [vec!["package", "charts/web", "--destination", "served"], vec!["repo", "index", "served"]]
    {
        let home = desk.path().join("home");
        #[expect(clippy::disallowed_methods, reason = "the test makes its repository with helm")]
        let done = std::process::Command::new(helm.as_ref().unwrap())
            .args(arguments)
            .current_dir(desk.path())
            .env("HOME", home)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    fs::remove_dir_all(desk.path().join("charts/web")).unwrap();
    let (address, doors) = serve(served);
    let config = format!(
        "kind: RenderHelmChart\nhelmCharts:\n- chartArgs: {{name: web, version: 1.2.3, repo: 'http://{address}', auth: {{kind: Secret, name: \
         key}}}}\n  templateOptions: {{releaseName: shop, skipTests: true}}\n"
    );
    let mut asked = request(&config);
    asked.grants.network = Network::Host;
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {username: bWU=, password: c2VjcmV0}\n";
    asked.list.items.push(Resource::parse(secret).unwrap());
    let response = desk.helm().evaluate(asked, &soon()).await.unwrap();
    assert!(text(&response).contains("name: shop-web"), "{}", text(&response));
    // `me:secret` in base 64.
    assert!(doors.lock().unwrap().iter().all(|line| line == "Basic bWU6c2VjcmV0"), "{doors:?}");
    assert!(doors.lock().unwrap().len() >= 2, "the index and the chart");
    assert!(!desk.path().join("charts/web").exists(), "nothing is left behind");
}

/// A repository of charts on this machine, and who came to its door.
fn serve(folder: PathBuf) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let doors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&doors);
    // Ends with the test.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let mut who = String::new();
            for line in lines.take_while(|line| !line.is_empty()) {
                if let Some(value) = line.strip_prefix("Authorization: ") {
                    value.clone_into(&mut who);
                }
            }
            seen.lock().unwrap().push(who);
            let name = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
            let (status, body) = match fs::read(folder.join(&name)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (address, doors)
}
