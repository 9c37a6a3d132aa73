use lanai_evaluate::wire::{Error, send};
use lanai_krm::package::Folder;
use lanai_krm::resource::Origin;
use lanai_krm::{Resource, ResourceList};

fn resource(name: &str) -> Resource {
    let text = format!(
        "# about {name}\nkind: A # first\napiVersion: v1\nmetadata:\n  name: '{name}'\nlist:\n  - 1\n\n  - 2 # two\n"
    );
    let mut resource = Resource::parse(&text).unwrap();
    let path = format!("{name}.yaml").parse().unwrap();
    let package = Folder::At("sub".parse().unwrap());
    resource.set_origin(Some(Origin { package, path, index: Some(0), serial: None }));
    resource
}

fn list(names: &[&str]) -> ResourceList {
    ResourceList { items: names.iter().map(|name| resource(name)).collect(), ..ResourceList::default() }
}

/// What comes back when a function makes `change` of what it read.
fn received(list: &ResourceList, change: impl Fn(&mut ResourceList)) -> Result<ResourceList, Error> {
    let sent = send(list).unwrap();
    let mut answer = ResourceList::parse(sent.text()).unwrap();
    change(&mut answer);
    sent.receive(&answer.to_string())
}

const PATH: &str = "internal.config.kubernetes.io/path";
const LEGACY_PATH: &str = "config.kubernetes.io/path";
const INDEX: &str = "internal.config.kubernetes.io/index";
const LEGACY_INDEX: &str = "config.kubernetes.io/index";
const ID: &str = "internal.config.kubernetes.io/id";

#[test]
fn a_resource_says_where_it_stands_and_which_one_it_is() {
    let mut list = list(&["a", "b"]);
    let origin = list.items[1].origin().cloned().unwrap();
    list.items[1].set_origin(Some(Origin { serial: Some(7), ..origin }));
    let sent = ResourceList::parse(send(&list).unwrap().text()).unwrap();
    let annotations: Vec<_> =
        sent.items[1].annotations().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        annotations,
        [
            "config.kubernetes.io/index=0",
            "config.kubernetes.io/path=b.yaml",
            "internal.config.kubernetes.io/index=0",
            "internal.config.kubernetes.io/package-path=sub",
            "internal.config.kubernetes.io/path=b.yaml",
            "internal.config.kubernetes.io/seqindent=wide",
            "internal.config.kubernetes.io/kpt-resource-id=7",
            "internal.config.kubernetes.io/annotations-migration-resource-id=1",
            "internal.config.kubernetes.io/id=2",
            "config.k8s.io/id=2",
        ]
    );
    assert!(sent.items[0].annotation("internal.config.kubernetes.io/kpt-resource-id").is_none());
}

#[test]
fn what_was_not_touched_comes_back_as_it_was() {
    let list = list(&["a", "b"]);
    let back = received(&list, |_| {}).unwrap();
    for (item, sent) in back.items.iter().zip(&list.items) {
        assert_eq!((item.to_string(), item.origin()), (sent.to_string(), sent.origin()));
    }
}

#[test]
fn what_a_function_wrote_anew_keeps_its_comments_and_layout() {
    let list = list(&["a"]);
    let answer = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: A\n  \
                  list: [1, 3]\n  metadata:\n    annotations: {config.k8s.io/id: '1'}\n    name: a\n";
    let back = send(&list).unwrap().receive(answer).unwrap();
    assert_eq!(back.items[0].to_string(), list.items[0].to_string().replace("- 2 # two", "- 3 # two"));
    assert_eq!(back.items[0].origin(), list.items[0].origin());
}

#[test]
fn the_order_is_that_of_the_answer() {
    let back = received(&list(&["a", "b", "c"]), |list| list.items.reverse()).unwrap();
    let names: Vec<_> = back.items.iter().map(|item| item.name().unwrap()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    assert_eq!(back.items[0].origin().unwrap().path.as_str(), "c.yaml");
}

#[test]
fn a_renamed_resource_is_still_the_same() {
    let back = received(&list(&["a"]), |list| list.items[0].set_name("z").unwrap()).unwrap();
    assert_eq!(back.items[0].name().unwrap(), "z");
    assert_eq!(back.items[0].origin().unwrap().path.as_str(), "a.yaml");
}

#[test]
fn a_new_place_comes_back_as_an_annotation() {
    for key in [PATH, LEGACY_PATH] {
        let moved = |list: &mut ResourceList| list.items[0].set_annotation(key, "new/a.yaml").unwrap();
        let back = received(&list(&["a"]), moved).unwrap();
        let annotations: Vec<_> =
            back.items[0].annotations().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(annotations, [format!("{PATH}=new/a.yaml")]);
        assert_eq!(back.items[0].origin().unwrap().path.as_str(), "a.yaml");
    }
    let third = |list: &mut ResourceList| list.items[0].set_annotation(LEGACY_INDEX, "3").unwrap();
    assert_eq!(received(&list(&["a"]), third).unwrap().items[0].annotation(INDEX).unwrap(), "3");
    // Both changed alike.
    let both = |list: &mut ResourceList| {
        list.items[0].set_annotation(PATH, "b.yaml").unwrap();
        list.items[0].set_annotation(LEGACY_PATH, "b.yaml").unwrap();
    };
    assert_eq!(received(&list(&["a"]), both).unwrap().items[0].annotation(PATH).unwrap(), "b.yaml");
    // A new file, and no place in it.
    let moved = |list: &mut ResourceList| {
        list.items[0].remove_location().unwrap();
        list.items[0].set_annotation(PATH, "b.yaml").unwrap();
    };
    assert_eq!(received(&list(&["a"]), moved).unwrap().items[0].annotation(INDEX).unwrap(), "");
}

#[test]
fn two_names_with_two_new_values_are_refused() {
    for (one, other, what) in [(PATH, LEGACY_PATH, "path"), (INDEX, LEGACY_INDEX, "index")] {
        let change = |list: &mut ResourceList| {
            list.items[0].set_annotation(one, "8").unwrap();
            list.items[0].set_annotation(other, "9").unwrap();
        };
        assert_eq!(received(&list(&["a"]), change).unwrap_err(), Error::Mismatched { what });
    }
}

#[test]
fn what_a_function_forgets_changes_nothing() {
    let list = list(&["a"]);
    let back = received(&list, |list| {
        list.items[0].remove_location().unwrap();
        list.items[0].remove_annotation("internal.config.kubernetes.io/package-path").unwrap();
        list.items[0].remove_annotation("internal.config.kubernetes.io/seqindent").unwrap();
    });
    let back = back.unwrap();
    assert_eq!(back.items[0].to_string(), list.items[0].to_string());
    assert_eq!(back.items[0].origin(), list.items[0].origin());
}

#[test]
fn what_has_no_id_is_new_and_so_is_what_has_one_of_nobody() {
    let plain = "apiVersion: v1\nkind: B\nmetadata:\n  name: n\n";
    for id in
        ["", "internal.config.kubernetes.io/id: '99'", "config.k8s.io/id: zero", "config.k8s.io/id: '0'"]
    {
        let annotations = if id.is_empty() { String::new() } else { format!("  annotations:\n    {id}\n") };
        let text = format!("{plain}{annotations}");
        let back = received(&list(&["a"]), |list| list.items.push(Resource::parse(&text).unwrap())).unwrap();
        assert_eq!(back.items.len(), 2);
        assert_eq!((back.items[1].origin(), back.items[1].to_string()), (None, plain.to_owned()));
    }
}

#[test]
fn of_two_that_claim_to_be_the_same_the_first_is_it() {
    let copy = |list: &mut ResourceList| {
        let mut copy = list.items[0].clone();
        copy.set_name("copy").unwrap();
        list.items.push(copy);
    };
    let back = received(&list(&["a"]), copy).unwrap();
    assert!(back.items[0].origin().is_some());
    assert_eq!((back.items[1].origin(), back.items[1].name().unwrap().as_ref()), (None, "copy"));
    assert_eq!(back.items[1].annotation(ID), None);
    assert_eq!(back.items[1].path().unwrap(), "a.yaml", "the place that it asks for is that of the first");
}

#[test]
fn what_is_gone_is_gone_and_no_text_is_no_answer() {
    let back = received(&list(&["a", "b"]), |list| drop(list.items.remove(0))).unwrap();
    assert_eq!(back.items.len(), 1);
    assert_eq!(back.items[0].to_string(), resource("b").to_string());
    let sent = send(&list(&["a"])).unwrap();
    assert!(matches!(sent.receive(" \n"), Err(Error::Nothing)));
    let empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    assert!(sent.receive(empty).unwrap().items.is_empty());
    assert!(send(&list(&[])).unwrap().receive("").unwrap().items.is_empty());
    assert!(matches!(send(&list(&["a"])).unwrap().receive("- 1\n"), Err(Error::List(_))));
}

#[test]
fn a_config_of_a_file_says_where_it_stands_and_another_does_not() {
    let mut list = list(&["a"]);
    list.function_config = Some(resource("c"));
    let sent = ResourceList::parse(send(&list).unwrap().text()).unwrap();
    let config = sent.function_config.unwrap();
    assert_eq!((config.annotation(PATH).unwrap().as_ref(), config.annotation(ID)), ("c.yaml", None));
    let mut plain = resource("c");
    plain.set_origin(None);
    list.function_config = Some(plain);
    let sent = ResourceList::parse(send(&list).unwrap().text()).unwrap();
    assert_eq!(sent.function_config.unwrap().annotations().count(), 0);
}

#[test]
fn own_annotations_stay_and_annotations_that_are_none_are_refused() {
    let mut item = resource("a");
    item.set_annotation("mine", "1").unwrap();
    let list = ResourceList { items: vec![item.clone()], ..ResourceList::default() };
    assert_eq!(received(&list, |_| {}).unwrap().items[0].to_string(), item.to_string());
    for text in ["metadata: text\n", "metadata:\n  annotations: [1]\n"] {
        let list = ResourceList { items: vec![Resource::parse(text).unwrap()], ..ResourceList::default() };
        assert!(matches!(send(&list), Err(Error::Annotations { .. })), "{text}");
    }
    let text = "resources: [x]\n";
    let bare = ResourceList { items: vec![Resource::parse(text).unwrap()], ..ResourceList::default() };
    assert_eq!(received(&bare, |_| {}).unwrap().items[0].to_string(), text);
}

#[test]
fn a_function_that_forgets_all_annotations_forgets_no_resource() {
    let list = list(&["a", "b"]);
    let forget = |answer: &mut ResourceList| {
        answer.items.reverse();
        for item in &mut answer.items {
            *item = Resource::parse(&format!(
                "{{apiVersion: v1, kind: A, metadata: {{name: {}}}, list: [1, 2]}}\n",
                item.name().unwrap()
            ))
            .unwrap();
        }
        answer.items.push(Resource::parse("{apiVersion: v1, kind: A, metadata: {name: new}}\n").unwrap());
    };
    let back = received(&list, forget).unwrap();
    assert_eq!(back.items[0].to_string(), list.items[1].to_string());
    assert_eq!(back.items[1].origin(), list.items[0].origin());
    assert!(back.items[2].origin().is_none(), "a new one is new");
    // Where two have the same name, nobody can tell.
    let twice = |answer: &mut ResourceList| {
        forget(answer);
        let copy = answer.items[0].clone();
        answer.items.push(copy);
    };
    assert!(received(&list, twice).unwrap().items[0].origin().is_none());
}
