//! Functions for tests: an `exec` like `mark x` is run here, word by word.

use std::sync::Mutex;

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, Failed, Failing, FunctionRef, Grants, Outlook, Request, Response, wire,
};
use lanai_krm::resource::annotation;
use lanai_krm::result::Severity;
use lanai_krm::{Resource, ResourceList, ResultItem};

/// How functions get their lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As values.
    Inside,
    /// As text, with annotations.
    Wire,
}

/// Runs the functions, and remembers what they saw.
pub struct Functions {
    way: Way,
    calls: Mutex<Vec<String>>,
}

impl Functions {
    pub fn new(way: Way) -> Self {
        Self { way, calls: Mutex::default() }
    }

    /// What was called: the function and the names of the resources that it saw.
    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Evaluator for Functions {
    async fn evaluate(&self, request: Request, _: &Deadline) -> Result<Response, Error> {
        let script = match &request.function {
            FunctionRef::Exec(script) => script.clone(),
            FunctionRef::Image(image) => format!("mark {image}"),
        };
        if script.starts_with("unknown") {
            return Err(Error::NotFound(Box::new(request)));
        }
        let names = request.list.items.iter().map(|item| item.name().unwrap_or("?".into()).into_owned());
        self.calls.lock().unwrap().push(format!("{script}: {}", names.collect::<Vec<_>>().join(" ")));
        match self.way {
            Way::Inside => {
                let mut list = request.list;
                run(&script, &mut list)?;
                Ok(Response { list, ..Response::default() })
            }
            Way::Wire => {
                let sent = wire::send(&request.list).unwrap();
                let mut list = ResourceList::parse(sent.text()).unwrap();
                run(&script, &mut list)?;
                let list = sent.receive(&list.to_string()).map_err(|cause| {
                    let why = Failing::from(cause);
                    Box::new(Failed { why, exit_code: 1, results: Vec::new(), stderr: String::new() })
                })?;
                Ok(Response { list, ..Response::default() })
            }
        }
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match function.as_str().split(' ').next() {
            Some("stranger") => Outlook::Unknown,
            Some("cripple") => Outlook::Cannot("it has no legs".into()),
            _ => Outlook::Runs,
        }
    }
}

fn run(script: &str, list: &mut ResourceList) -> Result<(), Error> {
    let words: Vec<&str> = script.split(' ').collect();
    let find = |list: &ResourceList, name: &str| {
        list.items.iter().position(|item| item.name().is_some_and(|is| is == name)).expect("it is there")
    };
    match words.as_slice() {
        ["nothing"] => {}
        // Writes a word behind the others that are in an annotation.
        ["mark", word] => {
            for item in &mut list.items {
                let old = item.annotation("by").map(|old| format!("{old} ")).unwrap_or_default();
                item.set_annotation("by", &format!("{old}{word}")).unwrap();
            }
        }
        ["mark-config"] => {
            let data = list.function_config.as_ref().and_then(|config| config.root().get("data"));
            let value =
                data.and_then(|data| data.get("value")).map_or("none".into(), lanai_yaml::NodeRef::value);
            let value = value.into_owned();
            for item in &mut list.items {
                item.set_annotation("config", &value).unwrap();
            }
        }
        ["set", name, value] => {
            let at = find(list, name);
            list.items[at]
                .edit(|document| document.root_mut().get_mut("data")?.insert("value", *value))
                .unwrap();
        }
        ["delete", name] => list.items.retain(|item| item.name().is_none_or(|is| is != *name)),
        ["delete-all"] => list.items.clear(),
        ["reverse"] => list.items.reverse(),
        ["copy", name] => {
            let copy = list.items[find(list, name)].clone();
            list.items.push(copy);
        }
        ["add", name, annotations @ ..] => {
            let text = format!("apiVersion: v1\nkind: New\nmetadata:\n  name: {name}\n");
            let mut item = Resource::parse(&text).unwrap();
            annotate(&mut item, annotations);
            list.items.push(item);
        }
        ["annotate", name, annotations @ ..] => {
            let at = find(list, name);
            annotate(&mut list.items[at], annotations);
        }
        ["forget-place", name] => {
            let at = find(list, name);
            list.items[at].remove_location().unwrap();
        }
        ["forget-kind", name] => {
            let at = find(list, name);
            list.items[at].edit(|document| document.root_mut().remove("kind").map(|_| ())).unwrap();
        }
        ["rename", name, to] => {
            let at = find(list, name);
            list.items[at].set_name(to).unwrap();
        }
        ["tell", severity] => list.results.push(result(severity)),
        ["tell-many", count] => {
            list.results.extend(vec![result("error"); count.parse().unwrap()]);
        }
        ["fail-loud", count] => {
            let message = "x".repeat(1000);
            let item = ResultItem { message, ..result("error") };
            let results = vec![item; count.parse().unwrap()];
            let failed = Failed { why: Failing::Exit(1), exit_code: 1, results, stderr: String::new() };
            return Err(Error::Failed(Box::new(failed)));
        }
        ["fail", code] => {
            let exit_code = code.parse().unwrap();
            return Err(failed(Failing::Exit(exit_code), exit_code));
        }
        ["die"] => return Err(failed(Failing::Signal(9), 1)),
        ["garble"] => return Err(failed(Failing::Output("no list".into()), 1)),
        ["hang"] => {
            let limit = std::time::Duration::from_mins(5);
            return Err(Error::Timeout { limit, stderr: "still here\n".into() });
        }
        ["missing"] => return Err(Error::Infrastructure("cannot run \"missing\"".into())),
        other => panic!("no such function: {other:?}"),
    }
    Ok(())
}

fn annotate(item: &mut Resource, annotations: &[&str]) {
    for pair in annotations {
        let (key, value) = pair.split_once('=').unwrap();
        let key = match key {
            "path" => annotation::PATH,
            "index" => annotation::INDEX,
            "package" => annotation::PACKAGE_PATH,
            key => key,
        };
        item.set_annotation(key, value).unwrap();
    }
}

fn failed(why: Failing, exit_code: i32) -> Error {
    let results = vec![result("error"), result("info")];
    Error::Failed(Box::new(Failed { why, exit_code, results, stderr: "no!\n".into() }))
}

fn result(severity: &str) -> ResultItem {
    let severity = match severity {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Info,
    };
    ResultItem { message: format!("{severity:?} of it"), severity: Some(severity), ..ResultItem::default() }
}
