use lanai_types::lifecycle::{
    Event, Lifecycle, Next, Refused, RequestedLifecycle, RestOfSpec, Route, create, step,
};
use proptest::prelude::*;

const ONLY_PROPOSED: &str = r#"spec.lifecycle: Invalid value: "Draft": cannot approve package with Draft lifecycle value; only Proposed packages can be approved"#;
const ONLY_DELETE: &str = r#"spec.lifecycle: Invalid value: "Published": package with Published lifecycle value can only be updated to 'ProposeDeletion'"#;
const ONLY_KEEP: &str = r#"spec.lifecycle: Invalid value: "DeletionProposed": package with DeletionProposed lifecycle value can only be updated to 'Published'"#;
const NOT_PUBLISHED: &str = r#"spec.lifecycle: Invalid value: "DeletionProposed": cannot update lifecycle DeletionProposed; only Published packages require approval for deletion"#;
const APPROVE_UNSET: &str =
    r#"spec.lifecycle: Invalid value: "": value for approval can be only one of Draft,Published"#;
const APPROVE_PROPOSED: &str =
    r#"spec.lifecycle: Invalid value: "Proposed": value for approval can be only one of Draft,Published"#;
const APPROVE_BOGUS: &str =
    r#"spec.lifecycle: Invalid value: "Bogus": value for approval can be only one of Draft,Published"#;
const UNKNOWN: &str = r#"spec.lifecycle: Invalid value: "Bogus": value can be only updated to Draft,Proposed,Published,DeletionProposed"#;
const OLD_DRAFT: &str =
    r#"spec.lifecycle: Invalid value: "Draft": value can be only updated to Draft,Proposed"#;
const OLD_PROPOSED: &str =
    r#"spec.lifecycle: Invalid value: "Proposed": value can be only updated to Draft,Proposed"#;
const FINAL: &str = r#"spec: Invalid value: {"x":1}: spec can only update package with lifecycle value one of Draft,Proposed"#;
const DELETE_PUBLISHED: &str = "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion";
const METHOD: &str = "the server does not allow this method on the requested resource";

/// What a cell of the table expects: a step, or the refusals that are joined into one message.
#[derive(Debug, Clone, Copy)]
enum Expect {
    Do(Next),
    No(&'static [&'static str]),
}

use Expect::{Do, No};
use Lifecycle::{DeletionProposed, Draft, Proposed, Published};

/// Every state and every value of `spec.lifecycle`, by every route. The two columns of the main route are for an update
/// that leaves the rest of the spec alone, and for one that does not.
#[rustfmt::skip]
const UPDATES: [(Lifecycle, &str, Expect, Expect, Expect); 24] = [
    // from              asked for           main, rest same                  main, rest differs               approval
    (Draft,            "",                 Do(Next::Stay(Draft)),           Do(Next::Stay(Draft)),           No(&[ONLY_PROPOSED, APPROVE_UNSET])),
    (Draft,            "Draft",            Do(Next::Stay(Draft)),           Do(Next::Stay(Draft)),           No(&[ONLY_PROPOSED])),
    (Draft,            "Proposed",         Do(Next::Propose),               Do(Next::Propose),               No(&[ONLY_PROPOSED, APPROVE_PROPOSED])),
    (Draft,            "Published",        No(&[OLD_DRAFT]),                No(&[OLD_DRAFT]),                No(&[ONLY_PROPOSED])),
    (Draft,            "DeletionProposed", No(&[OLD_DRAFT]),                No(&[OLD_DRAFT]),                No(&[ONLY_PROPOSED, NOT_PUBLISHED])),
    (Draft,            "Bogus",            No(&[UNKNOWN, OLD_DRAFT]),       No(&[UNKNOWN, OLD_DRAFT]),       No(&[ONLY_PROPOSED, APPROVE_BOGUS])),
    (Proposed,         "",                 Do(Next::Reject),                Do(Next::Reject),                No(&[APPROVE_UNSET])),
    (Proposed,         "Draft",            Do(Next::Reject),                Do(Next::Reject),                Do(Next::Reject)),
    (Proposed,         "Proposed",         Do(Next::Stay(Proposed)),        Do(Next::Stay(Proposed)),        No(&[APPROVE_PROPOSED])),
    (Proposed,         "Published",        No(&[OLD_PROPOSED]),             No(&[OLD_PROPOSED]),             Do(Next::Publish)),
    (Proposed,         "DeletionProposed", No(&[OLD_PROPOSED]),             No(&[OLD_PROPOSED]),             No(&[NOT_PUBLISHED])),
    (Proposed,         "Bogus",            No(&[UNKNOWN, OLD_PROPOSED]),    No(&[UNKNOWN, OLD_PROPOSED]),    No(&[APPROVE_BOGUS])),
    (Published,        "",                 No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_DELETE, APPROVE_UNSET])),
    (Published,        "Draft",            No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_DELETE])),
    (Published,        "Proposed",         No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_DELETE, APPROVE_PROPOSED])),
    (Published,        "Published",        Do(Next::Stay(Published)),       No(&[FINAL]),                    No(&[ONLY_DELETE])),
    (Published,        "DeletionProposed", Do(Next::ProposeDeletion),       No(&[FINAL]),                    Do(Next::ProposeDeletion)),
    (Published,        "Bogus",            No(&[UNKNOWN, FINAL]),           No(&[UNKNOWN, FINAL]),           No(&[ONLY_DELETE, APPROVE_BOGUS])),
    (DeletionProposed, "",                 No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_KEEP, APPROVE_UNSET])),
    (DeletionProposed, "Draft",            No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_KEEP])),
    (DeletionProposed, "Proposed",         No(&[FINAL]),                    No(&[FINAL]),                    No(&[ONLY_KEEP, APPROVE_PROPOSED])),
    (DeletionProposed, "Published",        Do(Next::RejectDeletion),        No(&[FINAL]),                    Do(Next::RejectDeletion)),
    (DeletionProposed, "DeletionProposed", Do(Next::Stay(DeletionProposed)), No(&[FINAL]),                   No(&[ONLY_KEEP, NOT_PUBLISHED])),
    (DeletionProposed, "Bogus",            No(&[UNKNOWN, FINAL]),           No(&[UNKNOWN, FINAL]),           No(&[ONLY_KEEP, APPROVE_BOGUS])),
];

/// The events that are not updates of the object.
#[rustfmt::skip]
const OTHERS: [(Lifecycle, Event, Expect, Expect); 8] = [
    // from              event               main                             approval
    (Draft,            Event::EditContent, Do(Next::Stay(Draft)),           No(&[METHOD])),
    (Proposed,         Event::EditContent, No(&[r#"cannot update a package revision with lifecycle value "Proposed"; package must be Draft"#]), No(&[METHOD])),
    (Published,        Event::EditContent, No(&[r#"cannot update a package revision with lifecycle value "Published"; package must be Draft"#]), No(&[METHOD])),
    (DeletionProposed, Event::EditContent, No(&[r#"cannot update a package revision with lifecycle value "DeletionProposed"; package must be Draft"#]), No(&[METHOD])),
    (Draft,            Event::Delete,      Do(Next::Delete),                No(&[METHOD])),
    (Proposed,         Event::Delete,      Do(Next::Delete),                No(&[METHOD])),
    (Published,        Event::Delete,      No(&[DELETE_PUBLISHED]),         No(&[METHOD])),
    (DeletionProposed, Event::Delete,      Do(Next::Delete),                No(&[METHOD])),
];

fn check(state: Lifecycle, event: &Event, route: Route, expected: Expect) {
    let actual = step(state, event, route).map_err(|refused| refused.message(r#"{"x":1}"#));
    let expected = match expected {
        Do(next) => Ok(next),
        No([only]) => Err((*only).to_owned()),
        No(several) => Err(format!("[{}]", several.join(", "))),
    };
    assert_eq!(actual, expected, "{state} with {event:?} by {route:?}");
}

fn asks_for(lifecycle: &str, rest: RestOfSpec) -> Event {
    Event::Update { lifecycle: RequestedLifecycle::parse(lifecycle), rest }
}

#[test]
fn every_update_of_every_state_by_every_route() {
    for (state, lifecycle, same, differs, approval) in UPDATES {
        check(state, &asks_for(lifecycle, RestOfSpec::Same), Route::Main, same);
        check(state, &asks_for(lifecycle, RestOfSpec::Differs), Route::Main, differs);
        check(state, &asks_for(lifecycle, RestOfSpec::Same), Route::Approval, approval);
        check(state, &asks_for(lifecycle, RestOfSpec::Differs), Route::Approval, approval);
    }
}

#[test]
fn every_other_event_of_every_state_by_every_route() {
    for (state, event, main, approval) in OTHERS {
        check(state, &event, Route::Main, main);
        check(state, &event, Route::Approval, approval);
    }
}

#[test]
fn the_table_has_every_pair_once() {
    let asked = ["", "Draft", "Proposed", "Published", "DeletionProposed", "Bogus"];
    for state in Lifecycle::ALL {
        for lifecycle in asked {
            let rows = UPDATES.iter().filter(|row| row.0 == state && row.1 == lifecycle);
            assert_eq!(rows.count(), 1, "{state} asked for {lifecycle:?}");
        }
        for event in [Event::EditContent, Event::Delete] {
            let rows = OTHERS.iter().filter(|row| row.0 == state && row.1 == event);
            assert_eq!(rows.count(), 1, "{state} with {event:?}");
        }
    }
}

#[test]
fn only_drafts_are_created() {
    assert_eq!(create(&RequestedLifecycle::parse("")), Ok(Draft));
    assert_eq!(create(&RequestedLifecycle::parse("Draft")), Ok(Draft));
    for asked in ["Proposed", "Published", "DeletionProposed", "draft", "Bogus"] {
        let refused = create(&RequestedLifecycle::parse(asked)).expect_err("only drafts are created");
        let text = format!(r#"spec.lifecycle: Invalid value: "{asked}": value can be only created as Draft"#);
        assert_eq!(refused.to_string(), text);
    }
}

#[test]
fn the_state_afterwards_is_the_one_in_the_name_of_the_step() {
    let steps = [
        (Next::Stay(Draft), Some(Draft)),
        (Next::Stay(DeletionProposed), Some(DeletionProposed)),
        (Next::Propose, Some(Proposed)),
        (Next::Reject, Some(Draft)),
        (Next::Publish, Some(Published)),
        (Next::ProposeDeletion, Some(DeletionProposed)),
        (Next::RejectDeletion, Some(Published)),
        (Next::Delete, None),
    ];
    for (next, state) in steps {
        assert_eq!(next.state(), state, "{next:?}");
    }
}

#[test]
fn hostile_values_stay_on_one_line_of_the_message() {
    let refused = create(&RequestedLifecycle::parse("a\n\"b\u{200c}\0")).expect_err("not a lifecycle");
    let text = r#"spec.lifecycle: Invalid value: "a\n\"b\u200c\x00": value can be only created as Draft"#;
    assert_eq!(refused.to_string(), text);
}

#[test]
fn causes_have_a_field_and_a_text_without_it() {
    let event = asks_for("Bogus", RestOfSpec::Same);
    let Err(Refused::Invalid(causes)) = step(Published, &event, Route::Main) else {
        panic!("an unknown lifecycle is invalid");
    };
    let causes: Vec<_> = causes.iter().map(|cause| (cause.field, cause.body_with("{}"))).collect();
    let unknown =
        r#"Invalid value: "Bogus": value can be only updated to Draft,Proposed,Published,DeletionProposed"#;
    let fixed = "Invalid value: {}: spec can only update package with lifecycle value one of Draft,Proposed";
    assert_eq!(causes, [("spec.lifecycle", unknown.to_owned()), ("spec", fixed.to_owned())]);
}

#[test]
fn lifecycles_are_their_names_on_the_wire() {
    for state in Lifecycle::ALL {
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(json, format!("\"{state}\""));
        assert_eq!(serde_json::from_str::<Lifecycle>(&json).unwrap(), state);
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    assert!(serde_json::from_str::<Lifecycle>("\"draft\"").is_err());
}

proptest! {
    #[test]
    fn any_text_is_a_request_and_keeps_its_text(raw in any::<String>()) {
        let requested = RequestedLifecycle::parse(&raw);
        prop_assert_eq!(requested.as_str(), &raw);
    }

    #[test]
    fn nothing_but_an_approval_of_a_proposed_revision_publishes(
        state in prop::sample::select(Lifecycle::ALL.to_vec()),
        asked in prop::sample::select(vec!["", "Draft", "Proposed", "Published", "DeletionProposed", "x"]),
        route in prop::sample::select(vec![Route::Main, Route::Approval]),
    ) {
        let next = step(state, &asks_for(asked, RestOfSpec::Same), route);
        let is_approval = state == Proposed && asked == "Published" && route == Route::Approval;
        prop_assert_eq!(next == Ok(Next::Publish), is_approval);
        let crosses = next.is_ok_and(|next| next.state().is_some_and(Lifecycle::is_published)) && !state.is_published();
        prop_assert_eq!(crosses, is_approval);
    }
}
