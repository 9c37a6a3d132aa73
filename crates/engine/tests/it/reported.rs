//! What functions report: kept, and with an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lanai_engine::bounds::MAX_REPORTED;
use lanai_engine::{Reason, Route};
use lanai_evaluate::{Deadline, Error, Evaluator, Failed, Failing, Request, Response};
use lanai_krm::ResultItem;
use serde_json::{Value, json};

use crate::world::{CONFIG_MAP, World, kptfile};

/// Passes as long as it has nothing to report.
#[derive(Default)]
struct Moody(AtomicUsize);

#[async_trait]
impl Evaluator for Moody {
    async fn evaluate(&self, request: Request, _: &Deadline) -> Result<Response, Error> {
        let number = self.0.load(Ordering::SeqCst);
        if number == 0 {
            return Ok(Response {
                list: request.list,
                stderr: String::new(),
                evaluator: "moody",
                exit_code: 0,
            });
        }
        let result = |at: usize| ResultItem { message: format!("bad {at}"), ..ResultItem::default() };
        let failed = Failed {
            why: Failing::Exit(1),
            exit_code: 1,
            results: (0..number).map(result).collect(),
            stderr: String::new(),
        };
        Err(Box::new(failed).into())
    }
}

async fn world() -> (Arc<Moody>, World) {
    let moody = Arc::new(Moody::default());
    let world = World::running(moody.clone(), lanai_engine::rendering::MAX_RENDERS).await;
    world.create("blueprints", "dns", "v1", Value::Null).await.expect("it works");
    let pipeline = "pipeline:\n  validators:\n    - image: example.com/moody:v1\n";
    let files = json!({"Kptfile": kptfile("dns", pipeline), "cm.yaml": CONFIG_MAP});
    world.save("blueprints.dns.v1", files).await.expect("it works");
    (moody, world)
}

async fn shown(world: &World) -> Vec<Value> {
    let status = world.resources("blueprints.dns.v1").await["status"]["renderStatus"].clone();
    status["result"]["items"][0]["results"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_render_is_remembered_on_every_path() {
    let (moody, world) = world().await;
    let name = "blueprints.dns.v1";
    moody.0.store(1, Ordering::SeqCst);
    let label = |object: &mut Value| object["spec"]["packageMetadata"] = json!({"labels": {"a": "b"}});
    let refused = world.update(name, Route::Main, label).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid, "{refused}");
    assert_eq!(shown(&world).await.len(), 1, "of a change of metadata");
    // Content that nobody rendered here is rendered when it is proposed.
    world.settled("blueprints").await;
    crate::outside::outsider(&world, "drafts/dns/v1", "dns/more.txt", "more");
    world.sync("blueprints").await;
    assert_eq!(shown(&world).await.len(), 0, "others made it");
    moody.0.store(2, Ordering::SeqCst);
    let refused = world.lifecycle(name, Route::Main, "Proposed").await.unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid, "{refused}");
    assert_eq!(shown(&world).await.len(), 2, "of a proposal");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_much_a_function_reports_there_is_an_end_to_it() {
    let (moody, world) = world().await;
    for (number, left_out) in [(MAX_REPORTED, 0), (MAX_REPORTED + 1, 1), (120_000, 120_000 - MAX_REPORTED)] {
        moody.0.store(number, Ordering::SeqCst);
        let text = CONFIG_MAP.replace("\"2\"", &format!("\"{number}\""));
        let refused = world.save("blueprints.dns.v1", json!({"cm.yaml": text})).await.unwrap_err();
        assert_eq!(refused.reason, Reason::Invalid, "{refused}");
        let shown = shown(&world).await;
        let said = usize::from(left_out > 0);
        assert_eq!((shown.len(), refused.causes.len()), (MAX_REPORTED + said, MAX_REPORTED + said));
        assert_eq!(shown[MAX_REPORTED - 1]["message"], format!("bad {}", MAX_REPORTED - 1));
        if left_out > 0 {
            let text = format!("{left_out} more result(s) of this function are not shown");
            assert_eq!(shown[MAX_REPORTED]["message"], text);
            assert_eq!(refused.causes[MAX_REPORTED].message, format!("{left_out} more are not shown"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn however_many_conflicts_there_are_there_is_an_end_to_them() {
    let world = World::new().await;
    let map =
        |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n{data}");
    let data = |value: &str| {
        let lines: Vec<String> = (0..=MAX_REPORTED).map(|at| format!("  k{at}: {value}\n")).collect();
        lines.concat()
    };
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.save("blueprints.dns.v1", json!({"cm.yaml": map(&data("one"))})).await.unwrap();
    world.publish("blueprints.dns.v1").await;
    let edit = json!({"type": "edit", "edit": {"sourceRef": {"name": "blueprints.dns.v1"}}});
    world.create("blueprints", "dns", "v2", edit).await.unwrap();
    world.save("blueprints.dns.v2", json!({"cm.yaml": map(&data("two"))})).await.unwrap();
    world.publish("blueprints.dns.v2").await;
    let clone =
        json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "blueprints.dns.v1"}}}});
    world.create("fleet", "dns", "v1", clone).await.unwrap();
    world.save("fleet.dns.v1", json!({"cm.yaml": map(&data("mine"))})).await.unwrap();
    world.publish("fleet.dns.v1").await;
    let upgrade = |policy: &str| {
        json!({"type": "upgrade", "upgrade": {
            "oldUpstreamRef": {"name": "blueprints.dns.v1"}, "newUpstreamRef": {"name": "blueprints.dns.v2"},
            "localPackageRevisionRef": {"name": "fleet.dns.v1"}, "policy": policy,
        }})
    };
    let refused = world.create("fleet", "dns", "v2", upgrade("fail")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict, "{refused}");
    assert_eq!(refused.causes.len(), MAX_REPORTED + 1);
    assert_eq!(refused.causes[MAX_REPORTED].message, "1 more are not shown");
    let made = world.create("fleet", "dns", "v2", upgrade("local")).await.unwrap();
    assert_eq!(made["status"]["conflicts"].as_array().map(Vec::len), Some(MAX_REPORTED));
    // A later change shows the same.
    world
        .update("fleet.dns.v2", Route::Main, |object| object["metadata"]["labels"] = json!({"a": "b"}))
        .await
        .unwrap();
    let said = world.condition("fleet.dns.v2", "MergeConflicts").await.unwrap()["message"].clone();
    let all = MAX_REPORTED + 1;
    let text = format!("the same in {all} places; status.conflicts says of the first {MAX_REPORTED} which");
    assert!(said.as_str().unwrap().contains(&text), "{said}");
}
