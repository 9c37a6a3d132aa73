//! What the root Kptfile tells about a render.

use lanai_krm::kptfile::ConditionStatus;
use lanai_render::RenderLimits;

use crate::rendering::{
    Seen, kptfile, mutators, options, rendered, resource, with_status, with_status_within,
};

fn condition(seen: &Seen) -> (ConditionStatus, String, String) {
    let kptfile = seen.kptfile();
    let condition = kptfile.condition("Rendered").expect("there is a condition");
    (condition.status.clone(), condition.reason.clone(), condition.message.clone())
}

/// A Kptfile as people write it.
const WRITTEN: &str = "\
# licence

kind: Kptfile # the kind first
apiVersion: \"kpt.dev/v1\"
metadata: {name: p}
info:
  keywords:
  - one

  - two
pipeline:
    # why
    mutators:
    - {exec: mark p, selectors: [{kind: A}]}   # all of them
";

#[test]
fn the_status_is_added_and_nothing_else_changes() {
    let seen = with_status(&[("Kptfile", WRITTEN), ("x.yaml", &resource("x"))]).succeeded();
    let text = seen.text("Kptfile");
    let status = "\
status:
  conditions:
  - type: Rendered
    status: \"True\"
    reason: RenderSuccess
  renderStatus:
    mutationSteps:
    - exec: mark p
      exitCode: 0
";
    assert_eq!(text, format!("{WRITTEN}{status}"));
    assert_eq!(condition(&seen), (ConditionStatus::True, "RenderSuccess".into(), String::new()));
}

#[test]
fn a_failure_changes_the_status_and_nothing_else() {
    let text = WRITTEN.replace("mark p", "fail 2");
    let seen = with_status(&[("Kptfile", &text), ("x.yaml", &resource("x"))]);
    assert!(seen.text("Kptfile").starts_with(&text));
    let message = "pkg.render: pkg .:\n\tpipeline.run: already handled error".to_owned();
    assert_eq!(condition(&seen), (ConditionStatus::False, "RenderFailed".into(), message));
    let status = seen.kptfile().fields().status.clone().unwrap().render_status.unwrap();
    assert_eq!(status, seen.rendered.status);
    assert_eq!(status.error_summary, "fail 2: exit code 2");
    assert_eq!(seen.text("x.yaml"), resource("x"));
}

#[test]
fn rendering_again_changes_nothing() {
    for function in ["set x new", "fail 2", "tell error"] {
        let root = WRITTEN.replace("mark p", function);
        let first = with_status(&[("Kptfile", &root), ("x.yaml", &resource("x"))]);
        let (kptfile, x) = (first.text("Kptfile"), first.text("x.yaml"));
        let second = with_status(&[("Kptfile", &kptfile), ("x.yaml", &x)]);
        assert_eq!((second.text("Kptfile"), second.text("x.yaml")), (kptfile, x));
    }
}

#[test]
fn a_status_replaces_the_one_before_and_keeps_other_conditions() {
    let other = "status:\n  conditions:\n  - {type: Mine, status: Unknown} # of mine\n";
    let failed = with_status(&[("Kptfile", &format!("{}{other}", mutators("p", &["fail 2"])))]);
    assert_eq!(condition(&failed).0, ConditionStatus::False);
    let repaired = failed.text("Kptfile").replacen("exec: fail 2", "exec: mark p", 1);
    let seen = with_status(&[("Kptfile", &repaired)]);
    assert_eq!(condition(&seen), (ConditionStatus::True, "RenderSuccess".into(), String::new()));
    let text = seen.text("Kptfile");
    assert!(
        text.contains("{type: Mine, status: Unknown} # of mine") && !text.contains("errorSummary"),
        "{text}"
    );
    assert_eq!(seen.kptfile().fields().status.clone().unwrap().conditions.len(), 2);
    // Without functions there are no steps, and the old ones go.
    let emptied = text.replacen("mutators:\n    - exec: mark p", "mutators: []", 1);
    let seen = with_status(&[("Kptfile", &emptied)]);
    assert!(!seen.text("Kptfile").contains("renderStatus"), "{}", seen.text("Kptfile"));
}

#[test]
fn steps_of_all_packages_stand_in_the_root() {
    let (root, inner) = (mutators("p", &["mark p"]), mutators("a", &["tell error"]));
    let seen = with_status(&[("Kptfile", &root), ("a/Kptfile", &inner)]);
    let steps = seen.kptfile().fields().status.clone().unwrap().render_status.unwrap().mutation_steps;
    assert_eq!(steps.iter().map(|step| step.exec.as_str()).collect::<Vec<_>>(), ["tell error", "mark p"]);
    assert!(!seen.text("a/Kptfile").contains("status"));
}

#[test]
fn the_status_can_be_left_alone() {
    for function in ["nothing", "fail 1"] {
        let root = mutators("p", &[function]);
        let seen = rendered(&[("Kptfile", &root)]);
        assert_eq!(seen.text("Kptfile"), root);
        assert!(!seen.rendered.status.mutation_steps.is_empty());
    }
}

#[test]
fn what_functions_do_to_the_kptfile_stays() {
    let seen = with_status(&[("Kptfile", &mutators("p", &["mark p"]))]).succeeded();
    assert_eq!(seen.by("Kptfile"), "p");
    assert_eq!(condition(&seen).0, ConditionStatus::True);
    let seen =
        with_status(&[("Kptfile", &mutators("p", &["delete p"])), ("x.yaml", &resource("x"))]).succeeded();
    assert_eq!(seen.files(), ["x.yaml"]);
}

#[test]
fn an_ignored_kptfile_tells_as_well() {
    let seen =
        with_status(&[("Kptfile", &mutators("p", &["mark p"])), (".krmignore", "Kptfile\n")]).succeeded();
    assert_eq!((seen.by("Kptfile").as_str(), condition(&seen).0), ("", ConditionStatus::True));
}

#[test]
fn further_documents_of_the_kptfile_stay() {
    let behind = format!("---\n# behind\n{}", resource("x"));
    let seen = with_status(&[("Kptfile", &format!("{}{behind}", kptfile("p", "")))]).succeeded();
    assert!(seen.text("Kptfile").ends_with(&behind));
}

#[test]
fn resources_of_config_connector_tell_when_they_are_asked() {
    let text = "apiVersion: x.cnrm.cloud.google.com/v1\nkind: A\nmetadata:\n  name: x # its name\n";
    let mut seen =
        rendered(&[("Kptfile", &kptfile("p", "")), ("x.yaml", text), ("y.yaml", &resource("y"))]).succeeded();
    assert_eq!(seen.text("x.yaml"), text);
    seen.rendered.attribute(&options()).unwrap();
    let told = seen.text("x.yaml");
    assert!(told.starts_with(text) && told.contains("cnrm.cloud.google.com/blueprint: krm-fn"), "{told}");
    assert_eq!(seen.text("y.yaml"), resource("y"));
    assert!(seen.rendered.items[1].annotation("cnrm.cloud.google.com/blueprint").is_some());
    let mut failed = rendered(&[("Kptfile", &mutators("p", &["fail 1"])), ("x.yaml", text)]);
    failed.rendered.attribute(&options()).unwrap();
    assert_eq!(failed.text("x.yaml"), text);
}

#[test]
fn results_may_reach_their_limit_and_no_more() {
    let limit = RenderLimits::DEFAULT.max_status_results;
    for (count, kept, last) in [
        (limit, limit, "Error of it"),
        (limit + 1, limit + 1, "... (1 more results were left out)"),
        (50 * limit, limit + 1, "... (4900 more results were left out)"),
    ] {
        let seen = with_status(&[("Kptfile", &mutators("p", &[&format!("tell-many {count}")]))]).succeeded();
        let status = seen.kptfile().fields().status.clone().unwrap().render_status.unwrap();
        for results in [&status.mutation_steps[0].results, &status.mutation_steps[0].error_results] {
            assert_eq!((results.len(), results.last().unwrap().message.as_str()), (kept, last));
        }
        assert_eq!(seen.rendered.results.items[0].results.len(), count, "nothing is left out there");
    }
}

#[test]
fn a_failure_is_told_where_there_is_no_room_for_its_steps() {
    // The Kptfile says that all is well, and has room for little more.
    let before = with_status(&[("Kptfile", &mutators("p", &["mark p"]))]).succeeded().text("Kptfile");
    let failing = before.replacen("exec: mark p", "exec: fail-loud 100", 1);
    let seen = with_status_within(failing.len() + 1000, &failing);
    let (status, reason, message) = condition(&seen);
    assert_eq!((status, reason.as_str()), (ConditionStatus::False, "RenderFailed"));
    assert!(message.contains("the steps were left out"), "{message}");
    assert!(!seen.text("Kptfile").contains("renderStatus"));
}

#[test]
fn a_status_that_cannot_be_told_at_all_fails_the_render() {
    let full = mutators("p", &["nothing"]);
    let seen = with_status_within(full.len(), &full);
    assert!(seen.error().contains("the status cannot be written to the Kptfile"), "{}", seen.error());
    assert_eq!(seen.text("Kptfile"), full);
}
