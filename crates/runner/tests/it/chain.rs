//! Several evaluators in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Request, Response};
use lanai_runner::Chain;

use crate::{image, soon};

/// Answers always in the same way, and counts how often it is asked.
struct Fixed {
    answer: fn(Request) -> Result<Response, Error>,
    asked: AtomicUsize,
}

fn fixed(answer: fn(Request) -> Result<Response, Error>) -> Arc<Fixed> {
    Arc::new(Fixed { answer, asked: AtomicUsize::new(0) })
}

#[async_trait]
impl Evaluator for Fixed {
    async fn evaluate(&self, request: Request, _: &Deadline) -> Result<Response, Error> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.answer)(request)
    }
}

fn unknown(request: Request) -> Result<Response, Error> {
    Err(Error::NotFound(Box::new(request)))
}

#[allow(clippy::unnecessary_wraps, reason = "others fail")]
fn known(request: Request) -> Result<Response, Error> {
    Ok(Response { list: request.list, ..Response::default() })
}

#[tokio::test]
async fn whoever_does_not_know_hands_on() {
    let (first, second, third) = (fixed(unknown), fixed(known), fixed(known));
    let chain = Chain::new([first.clone() as Arc<dyn Evaluator>, second.clone(), third.clone()]);
    let response = chain.evaluate(image("a"), &soon()).await.unwrap();
    assert_eq!(response.list.items.len(), 1, "the request came to the second one as it was");
    let asked = [first, second, third].map(|one| one.asked.load(Ordering::SeqCst));
    assert_eq!(asked, [1, 1, 0]);
}

#[tokio::test]
async fn no_other_error_falls_through() {
    let errors: [fn(Request) -> Result<Response, Error>; 4] = [
        |_| Err(Error::Cancelled),
        |_| Err(Error::Infrastructure("broken".into())),
        |_| Err(Error::Refused("no".into())),
        |_| Err(Error::Timeout { limit: std::time::Duration::ZERO, stderr: String::new() }),
    ];
    for error in errors {
        let next = fixed(known);
        let chain = Chain::new([fixed(error) as Arc<dyn Evaluator>, next.clone()]);
        assert!(chain.evaluate(image("a"), &soon()).await.is_err());
        assert_eq!(next.asked.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn nobody_knows_it() {
    for chain in [Chain::default(), Chain::new([fixed(unknown) as Arc<dyn Evaluator>])] {
        let error = chain.evaluate(image("who/knows:v1"), &soon()).await.unwrap_err();
        assert_eq!(error.to_string(), "function \"who/knows:v1\" is not known here");
        let Error::NotFound(request) = error else { panic!("{error:?}") };
        assert_eq!(request.function, FunctionRef::Image("who/knows:v1".into()));
        assert_eq!(request.list.items.len(), 1);
    }
}
