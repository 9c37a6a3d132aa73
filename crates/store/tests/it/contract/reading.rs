//! Lists and counts: snapshots, pages, selection.

use std::collections::{BTreeMap, BTreeSet};

use lanai_store::{
    At, Attributes, Continue, Error, Filter, ListRequest, Object, Page, Prefix, Requirement, Selector, Store,
    Subject, Test,
};

use crate::support::{equals, key, kind, labelled, lines, list, object, rev, under, with_label};

pub async fn lists_are_sorted_and_bounded_by_a_prefix(store: &dyn Store) {
    for raw in ["b/x/1", "a/y/1", "a/x/2", "a//1", "a/x/10", "aa/x/1", "a.b/x/1"] {
        store.create(key(raw), object(raw)).await.unwrap();
    }
    let found = async |prefix| -> Vec<String> {
        list(store, Filter::under(prefix)).await.items.iter().map(|item| item.key.to_string()).collect()
    };
    assert_eq!(
        found(Prefix::everything()).await,
        ["a.b/x/1", "a//1", "a/x/10", "a/x/2", "a/y/1", "aa/x/1", "b/x/1"]
    );
    let a = kind("a");
    assert_eq!(found(Prefix::kind(&a)).await, ["a//1", "a/x/10", "a/x/2", "a/y/1"]);
    assert_eq!(found(Prefix::namespace(&a, "x").unwrap()).await, ["a/x/10", "a/x/2"]);
    assert_eq!(found(Prefix::namespace(&a, "").unwrap()).await, ["a//1"]);
    assert_eq!(found(Prefix::names(&a, "x", "1").unwrap()).await, ["a/x/10"]);
    assert_eq!(found(Prefix::kind(&kind("c"))).await, [""; 0]);
}

async fn page(store: &dyn Store, filter: Filter, at: At, limit: usize) -> Page {
    store.list(&ListRequest { filter, at, limit: Some(limit.try_into().unwrap()) }).await.unwrap()
}

pub async fn pages_are_one_snapshot(store: &dyn Store) {
    for at in 1..=5 {
        store.create(key(&format!("a/x/{at}")), object("old")).await.unwrap();
    }
    let first = page(store, under("a"), At::Latest, 2).await;
    assert_eq!((first.revision, lines(&first)), (rev(5), vec!["1@1=old".into(), "2@2=old".into()]));
    let next = first.next.unwrap();
    assert_eq!(next, Continue { revision: rev(5), after: key("a/x/2") });
    // Everything happens to what was not seen yet.
    store.update(key("a/x/3"), rev(3), object("new")).await.unwrap();
    store.delete(key("a/x/4"), rev(4)).await.unwrap();
    store.create(key("a/x/4"), object("again")).await.unwrap();
    store.create(key("a/x/25"), object("new")).await.unwrap();
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    let second = page(store, under("a"), At::Continue(next), 2).await;
    assert_eq!((second.revision, lines(&second)), (rev(5), vec!["3@3=old".into(), "4@4=old".into()]));
    let third = page(store, under("a"), At::Continue(second.next.unwrap()), 2).await;
    assert_eq!((third.revision, lines(&third), third.next), (rev(5), vec!["5@5=old".into()], None));
    let whole = page(store, under("a"), At::Latest, 5).await;
    assert_eq!(lines(&whole), ["2@2=old", "25@9=new", "3@6=new", "4@8=again", "5@5=old"]);
    assert_eq!(whole.next, None, "a page that is just full is the last one");
}

pub async fn lists_of_the_past(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.update(key("a/x/1"), rev(1), object("two")).await.unwrap();
    store.create(key("a/x/2"), object("three")).await.unwrap();
    store.delete(key("a/x/1"), rev(2)).await.unwrap();
    store.create(key("a/x/1"), object("five")).await.unwrap();
    let expected: [&[&str]; 6] = [
        &[],
        &["1@1=one"],
        &["1@2=two"],
        &["1@2=two", "2@3=three"],
        &["2@3=three"],
        &["1@5=five", "2@3=three"],
    ];
    for (at, expected) in expected.into_iter().enumerate() {
        let at = At::Revision(rev(at as u64));
        let found =
            store.list(&ListRequest { filter: under("a"), at: at.clone(), limit: None }).await.unwrap();
        assert_eq!(lines(&found), expected, "{at:?}");
    }
}

pub async fn lists_out_of_range(store: &dyn Store) {
    for at in 1..=4 {
        store.create(key(&format!("a/x/{at}")), object("old")).await.unwrap();
    }
    store.compact(rev(3)).await.unwrap();
    let ask = async |at| {
        store.list(&ListRequest { filter: under("a"), at, limit: None }).await.map(|page| page.items.len())
    };
    assert_eq!(ask(At::Revision(rev(3))).await, Ok(3));
    assert_eq!(ask(At::Revision(rev(2))).await, Err(Error::Expired { asked: rev(2), horizon: rev(3) }));
    let old = Continue { revision: rev(1), after: key("a/x/1") };
    assert_eq!(ask(At::Continue(old)).await, Err(Error::Expired { asked: rev(1), horizon: rev(3) }));
    assert_eq!(ask(At::Revision(rev(5))).await, Err(Error::TooNew { asked: rev(5), current: rev(4) }));
}

pub async fn labels_and_fields_select(store: &dyn Store) {
    store.create(key("a/x/1"), labelled("", &[("app", "shop"), ("tier", "web")])).await.unwrap();
    store.create(key("a/x/2"), labelled("", &[("app", "shop"), ("tier", "db")])).await.unwrap();
    store.create(key("a/x/3"), labelled("", &[("app", "blog")])).await.unwrap();
    store.create(key("a/x/4"), labelled("", &[("tier", "")])).await.unwrap();
    store.create(key("b/x/5"), labelled("", &[("app", "shop")])).await.unwrap();
    let fields =
        BTreeMap::from([("spec.node".to_owned(), "n1".to_owned()), ("app".to_owned(), "field".to_owned())]);
    let attributes = Attributes::of_fields(&fields);
    store.create(key("a/x/6"), Object { attributes, ..object("") }).await.unwrap();

    let set = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<BTreeSet<_>>();
    let names = async |filter: Filter| -> String {
        let by_list = list(store, filter.clone()).await;
        assert_eq!(store.count(&filter).await.unwrap(), by_list.items.len() as u64);
        by_list.items.iter().map(|item| item.key.name()).collect()
    };
    let app = |test| with_label(under("a"), "app", test);
    assert_eq!(names(app(equals("shop"))).await, "12");
    assert_eq!(names(with_label(Filter::everything(), "app", equals("shop"))).await, "125");
    assert_eq!(names(app(Test::In(set(&["shop", "blog", "none"])))).await, "123");
    assert_eq!(names(app(Test::In(set(&[])))).await, "");
    assert_eq!(names(app(Test::NotIn(set(&["shop"])))).await, "346");
    assert_eq!(names(app(Test::Exists)).await, "123");
    assert_eq!(names(app(Test::Absent)).await, "46");
    assert_eq!(names(with_label(app(equals("shop")), "tier", equals("db"))).await, "2");
    assert_eq!(names(with_label(app(Test::Exists), "tier", Test::Absent)).await, "3");
    assert_eq!(names(with_label(under("a"), "tier", equals(""))).await, "4");
    let field = |name: &str, value: &str| {
        let requirement = Requirement { subject: Subject::Field(name.to_owned()), test: equals(value) };
        Filter { selector: Selector { requirements: vec![requirement] }, ..under("a") }
    };
    assert_eq!(names(field("spec.node", "n1")).await, "6");
    assert_eq!(names(field("app", "shop")).await, "", "a field is no label");
    // The index follows.
    store.update(key("a/x/2"), rev(2), labelled("", &[("app", "blog")])).await.unwrap();
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    assert_eq!(names(app(equals("shop"))).await, "");
    assert_eq!(names(app(equals("blog"))).await, "23");
    assert_eq!(names(with_label(under("a"), "tier", equals("db"))).await, "");
}

pub async fn selection_in_the_past(store: &dyn Store) {
    store.create(key("a/x/1"), labelled("one", &[("app", "shop")])).await.unwrap();
    store.create(key("a/x/2"), labelled("two", &[("app", "blog")])).await.unwrap();
    store.create(key("a/x/3"), labelled("three", &[("app", "shop")])).await.unwrap();
    store.update(key("a/x/1"), rev(1), labelled("four", &[("app", "blog")])).await.unwrap();
    store.update(key("a/x/2"), rev(2), labelled("five", &[("app", "shop")])).await.unwrap();
    store.delete(key("a/x/3"), rev(3)).await.unwrap();
    let filter = with_label(under("a"), "app", equals("shop"));
    let expected: [&[&str]; 4] =
        [&["1@1=one", "3@3=three"], &["3@3=three"], &["2@5=five", "3@3=three"], &["2@5=five"]];
    for (at, expected) in (3..).zip(expected) {
        let request = ListRequest { filter: filter.clone(), at: At::Revision(rev(at)), limit: None };
        assert_eq!(lines(&store.list(&request).await.unwrap()), expected, "at {at}");
    }
    let first = page(store, filter.clone(), At::Revision(rev(3)), 1).await;
    assert_eq!(lines(&first), ["1@1=one"]);
    let second = page(store, filter, At::Continue(first.next.unwrap()), 1).await;
    assert_eq!((lines(&second), second.next), (vec!["3@3=three".into()], None));
}

pub async fn counting(store: &dyn Store) {
    for at in 1..=3 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    store.create(key("b/x/1"), object("")).await.unwrap();
    store.delete(key("a/x/2"), rev(2)).await.unwrap();
    assert_eq!(store.count(&under("a")).await.unwrap(), 2);
    assert_eq!(store.count(&Filter::everything()).await.unwrap(), 3);
    assert_eq!(store.count(&under("c")).await.unwrap(), 0);
}
