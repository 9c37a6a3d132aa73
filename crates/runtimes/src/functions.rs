//! Which chain a namespace has now.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use lanai_catalog::Catalog;
use lanai_engine::{Error, Reason, Runtime, Runtimes};
use lanai_evaluate::Evaluator;
use lanai_krm::Resource;
use lanai_runner::Caching;
use lanai_runner::function_config::{FunctionConfig, FunctionConfigs};
use lanai_store::{Key, Kind, Revision, Store, Stored};
use lanai_types::Namespace;
use lanai_types::quote::Quoted;
use serde_json::Value;
use tokio::sync::{OnceCell, watch};

use crate::chain::{Parts, Settings};
use crate::measured::Counted;
use crate::options::{self, Options};
use crate::pull;
use crate::refusing::Refusing;

static CONFIG_MAP: LazyLock<Kind> = LazyLock::new(|| Kind::new("configmaps").expect("it is made of letters"));
static SECRET: LazyLock<Kind> = LazyLock::new(|| Kind::new("secrets").expect("it is made of letters"));

/// How long a render waits for the `FunctionConfig`s when the server has just started.
const READY_TIME: Duration = Duration::from_secs(10);
/// The most namespaces whose chains are held; beyond that they are made anew.
const MAX_KNOWN: usize = 1_024;

/// Who runs the functions of all namespaces of a server.
pub struct Functions {
    settings: Settings,
    parts: Parts,
    /// Whether the `FunctionConfig`s were handed over.
    ready: watch::Sender<bool>,
    catalog: OnceCell<Option<Catalog>>,
    counted: Arc<Counted>,
    usual: OnceCell<Runtime>,
    known: Mutex<BTreeMap<String, Known>>,
}

/// What a namespace has, and what it was made of.
#[derive(Clone)]
struct Known {
    made_of: Rows,
    runtime: Runtime,
}

/// The rows that options come from, with their versions; none is one that is not there.
type Rows = Vec<(Key, Option<Revision>)>;

impl Functions {
    /// By these settings. Nothing runs yet, and no connection is made.
    ///
    /// # Errors
    /// When a setting cannot be.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let counted = Arc::new(Counted::default());
        let parts = Parts::new(&settings, Arc::clone(&counted))?;
        let (catalog, usual) = (OnceCell::new(), OnceCell::new());
        let ready = watch::Sender::new(false);
        Ok(Self { settings, parts, ready, catalog, counted, usual, known: Mutex::default() })
    }

    /// From now on, these `FunctionConfig`s count, and no others. Answers which cannot be used, by name, and why. Renders wait until this was
    /// called for the first time.
    pub fn assign(&self, objects: &[Value]) -> BTreeMap<String, String> {
        let (mut configs, mut unusable) = (Vec::new(), BTreeMap::new());
        for object in objects {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            // JSON is YAML.
            let read = Resource::parse(&object.to_string()).map_err(|error| error.to_string());
            match read.map(|resource| FunctionConfig::of(&resource)) {
                Err(why) => _ = unusable.insert(name, why),
                Ok(None) => _ = unusable.insert(name, "it is no FunctionConfig".to_owned()),
                Ok(Some(Err(problem))) => _ = unusable.insert(name, problem.what),
                Ok(Some(Ok(config))) => {
                    unusable.extend(self.parts.configured.obstacle(&config).map(|why| (name, why)));
                    configs.push(config);
                }
            }
        }
        let index = FunctionConfigs::build(configs, &self.settings.image_prefix);
        unusable
            .extend(index.problems().iter().map(|problem| (problem.config.clone(), problem.what.clone())));
        self.parts.configured.assign(index);
        self.ready.send_replace(true);
        unusable
    }

    /// What is counted of functions, in the text form of Prometheus.
    pub fn metrics(&self) -> String {
        self.counted.text()
    }

    async fn until_ready(&self) -> Result<(), Error> {
        let mut ready = self.ready.subscribe();
        match tokio::time::timeout(READY_TIME, ready.wait_for(|ready| *ready)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::new(
                Reason::Unavailable,
                "",
                "the server does not know yet which functions are configured; try again",
            )),
        }
    }

    /// Results that are known. Where none can be kept, everything runs.
    async fn catalog(&self) -> Option<Catalog> {
        let open = async || {
            let folder = self.settings.results.clone()?;
            let opened = tokio::task::spawn_blocking(move || {
                Catalog::open(&folder, lanai_catalog::Options::default()).map_err(|error| error.to_string())
            });
            match opened.await.map_err(|error| error.to_string()) {
                Ok(Ok(catalog)) => Some(catalog),
                Ok(Err(error)) | Err(error) => {
                    tracing::warn!(%error, "results of functions are not kept");
                    None
                }
            }
        };
        self.catalog.get_or_init(open).await.clone()
    }

    async fn runtime(&self, options: &Options, place: &str) -> Runtime {
        let evaluator: Arc<dyn Evaluator> = match self.parts.chain(options) {
            Err(why) => Arc::new(Refusing(why)),
            Ok(chain) => {
                let chain: Arc<dyn Evaluator> = Arc::new(chain);
                match self.catalog().await {
                    None => chain,
                    Some(catalog) => {
                        Arc::new(Caching::new(chain, catalog, self.settings.version.as_str(), place))
                    }
                }
            }
        };
        self.with(evaluator, options.limits.function_time)
    }

    fn with(&self, evaluator: Arc<dyn Evaluator>, max_function_time: Duration) -> Runtime {
        Runtime {
            evaluator,
            tags: Arc::clone(&self.settings.tags),
            image_prefix: self.settings.image_prefix.clone(),
            max_function_time,
        }
    }

    /// The runtime of a namespace with an object of options.
    async fn special(
        &self,
        store: &dyn Store,
        namespace: &Namespace,
        stored: &Stored,
    ) -> Result<Runtime, Error> {
        let read = serde_json::from_slice(&stored.object.value).map_err(|error| error.to_string());
        let (options, mut problems) = match read
            .map(|object: Value| Options::parse(&object, self.settings.limits))
        {
            Ok(Ok(options)) => (options, Vec::new()),
            Ok(Err(problems)) => {
                (Options::of_server(self.settings.limits), problems.iter().map(ToString::to_string).collect())
            }
            Err(why) => (Options::of_server(self.settings.limits), vec![why]),
        };
        let mut made_of = vec![(stored.key.clone(), Some(stored.revision))];
        let mut secrets = Vec::new();
        for name in &options.pull_secrets {
            let wrong = |why: &str| format!("data.pullSecrets: Secret {}: {why}", Quoted(name));
            let Ok(key) = Key::new(&SECRET, namespace.as_str(), name) else {
                problems.push(wrong("that is no name"));
                continue;
            };
            let found = store.get(&key).await?;
            made_of.push((key, found.as_ref().map(|found| found.revision)));
            match found {
                None => problems.push(wrong("it is not there")),
                Some(found) => secrets.push((name, found)),
            }
        }
        if let Some(known) = self.known(namespace, &made_of) {
            return Ok(known);
        }
        for (name, secret) in secrets {
            let logins =
                serde_json::from_slice(&secret.object.value).map_err(|_| "it cannot be read".to_owned());
            if let Err(why) = logins.and_then(|secret: Value| pull::logins(&secret)) {
                problems.push(format!("data.pullSecrets: Secret {}: {why}", Quoted(name)));
            }
        }
        let runtime = if problems.is_empty() {
            self.runtime(&options, namespace.as_str()).await
        } else {
            let whole = format!("{namespace}/{}", options::NAME);
            let why = format!(
                "the runner options in ConfigMap {} are wrong: {}",
                Quoted(&whole),
                problems.join("; ")
            );
            self.with(Arc::new(Refusing(why)), self.settings.limits.function_time)
        };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(namespace.to_string(), Known { made_of, runtime: runtime.clone() });
        Ok(runtime)
    }

    fn known(&self, namespace: &Namespace, made_of: &Rows) -> Option<Runtime> {
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(namespace.as_str()).filter(|known| known.made_of == *made_of)?;
        Some(known.runtime.clone())
    }

    fn forget(&self, namespace: &Namespace) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(namespace.as_str());
    }
}

#[async_trait]
impl Runtimes for Functions {
    async fn of(&self, store: &dyn Store, namespace: &Namespace) -> Result<Runtime, Error> {
        self.until_ready().await?;
        let key = Key::new(&CONFIG_MAP, namespace.as_str(), options::NAME)
            .map_err(|error| Error::internal(error.to_string()))?;
        if let Some(stored) = store.get(&key).await? {
            return self.special(store, namespace, &stored).await;
        }
        self.forget(namespace);
        let usual = async || self.runtime(&Options::of_server(self.settings.limits), "").await;
        Ok(self.usual.get_or_init(usual).await.clone())
    }
}
