//! `kill -9` in the middle of writes: what was acknowledged is there, and what was begun is finished.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::json;

use crate::process::Process;
use crate::tls::Access;

/// How often the server is killed.
fn kills() -> u64 {
    if std::env::var_os("LANAI_SOAK").is_some() { 200 } else { 4 }
}

const WRITERS: usize = 8;
const PATIENCE: Duration = Duration::from_mins(1);

/// What was acknowledged: the number that each object has at least, or that it is gone.
type Acknowledged = Arc<Mutex<BTreeMap<String, Option<u64>>>>;

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let acknowledged = Acknowledged::default();
    let mut writes = 0;
    for round in 0..kills() {
        let mut process = Process::start(folder.path());
        let access = Access::read(&process.kubeconfig());
        runtime.block_on(async {
            let client = access.client().await.unwrap();
            check(&client, &acknowledged).await;
            finished(&client, round).await;
            let mut tasks = Vec::new();
            for writer in 0..WRITERS {
                let (client, acknowledged) = (access.client().await.unwrap(), acknowledged.clone());
                tasks.push(tokio::spawn(write(client, round, writer, acknowledged)));
            }
            begin(&client, round).await;
            // Another moment in each round.
            tokio::time::sleep(Duration::from_millis(40 + round * 37 % 211)).await;
            process.kill();
            for task in tasks {
                writes += task.await.unwrap();
            }
        });
    }
    let process = Process::start(folder.path());
    runtime.block_on(async {
        let client = Access::read(&process.kubeconfig()).client().await.unwrap();
        check(&client, &acknowledged).await;
        finished(&client, kills()).await;
    });
    println!("{writes} writes were acknowledged, and {} kills took none", kills());
    assert!(writes > kills() * 4, "{writes} writes");
}

/// Creates, changes and deletes objects until the server is gone; how many writes were acknowledged.
async fn write(client: Client, round: u64, writer: usize, acknowledged: Acknowledged) -> u64 {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let mut count = 0;
    let told = |name: &str, number: Option<u64>| acknowledged.lock().unwrap().insert(name.to_owned(), number);
    for number in 0.. {
        let name = format!("w-{round}-{writer}-{number}");
        let object = ConfigMap {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            data: Some([("number".to_owned(), "1".to_owned())].into()),
            ..ConfigMap::default()
        };
        if api.create(&PostParams::default(), &object).await.is_err() {
            break;
        }
        told(&name, Some(1));
        let patch = Patch::Merge(json!({"data": {"number": "2"}}));
        if api.patch(&name, &PatchParams::default(), &patch).await.is_err() {
            break;
        }
        told(&name, Some(2));
        count += 2;
        if number % 3 == 0 {
            // What is not answered may have happened.
            acknowledged.lock().unwrap().remove(&name);
            if api.delete(&name, &DeleteParams::default()).await.is_err() {
                break;
            }
            told(&name, None);
            count += 1;
        }
    }
    count
}

async fn check(client: &Client, acknowledged: &Acknowledged) {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let found: BTreeMap<String, u64> = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .filter_map(|map| Some((map.metadata.name?, map.data?.get("number")?.parse().ok()?)))
        .collect();
    for (name, expected) in acknowledged.lock().unwrap().iter() {
        let there = found.get(name);
        match expected {
            Some(number) => {
                assert!(there.is_some_and(|there| there >= number), "{name} is {there:?} and was {number}");
            }
            None => assert!(there.is_none(), "{name} was deleted"),
        }
    }
}

/// Begins what takes controllers several steps: a namespace with objects is deleted, and an owner with dependents.
async fn begin(client: &Client, round: u64) {
    let name = format!("round-{round}");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &name);
    for number in 0..20 {
        let map: ConfigMap =
            serde_json::from_value(json!({"metadata": {"name": format!("m{number}")}})).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let here: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": format!("owner-{round}")}})).unwrap();
    let owner = here.create(&PostParams::default(), &owner).await.unwrap();
    for number in 0..5 {
        let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid}]);
        let map: ConfigMap = serde_json::from_value(
            json!({"metadata": {"name": format!("of-{round}-{number}"), "ownerReferences": reference}}),
        )
        .unwrap();
        here.create(&PostParams::default(), &map).await.unwrap();
    }
    here.delete(&format!("owner-{round}"), &DeleteParams::background()).await.unwrap();
    namespaces.delete(&name, &DeleteParams::default()).await.unwrap();
}

/// Waits until what the rounds before began is finished.
async fn finished(client: &Client, round: u64) {
    let started = Instant::now();
    let Some(before) = round.checked_sub(1) else { return };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let name = format!("round-{before}");
    let gone = await_condition(namespaces, &name, |found: Option<&Namespace>| found.is_none());
    tokio::time::timeout(PATIENCE, gone).await.expect("the namespace goes").unwrap();
    let here: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for number in 0..5 {
        let name = format!("of-{before}-{number}");
        let gone = await_condition(here.clone(), &name, |found: Option<&ConfigMap>| found.is_none());
        tokio::time::timeout(PATIENCE, gone).await.expect("the dependent goes").unwrap();
    }
    assert!(started.elapsed() < PATIENCE);
}
