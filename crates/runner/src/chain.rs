//! Several evaluators, asked in turn.

use std::sync::Arc;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Identity, Outlook, Request, Response};

/// Asks evaluators in turn until one knows the function.
///
/// Only [`Error::NotFound`] makes it ask the next one. A chain in which nobody knows the function, and an empty one, answer
/// with that error and the request as it came.
#[derive(Clone, Default)]
pub struct Chain {
    evaluators: Vec<Arc<dyn Evaluator>>,
}

impl Chain {
    /// Asks these, in this order.
    pub fn new(evaluators: impl IntoIterator<Item = Arc<dyn Evaluator>>) -> Self {
        Self { evaluators: evaluators.into_iter().collect() }
    }
}

#[async_trait]
impl Evaluator for Chain {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let mut request = request;
        for evaluator in &self.evaluators {
            match evaluator.evaluate(request, deadline).await {
                Err(Error::NotFound(unknown)) => request = *unknown,
                answer => return answer,
            }
        }
        Err(Error::NotFound(Box::new(request)))
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        let grants = Grants::default();
        let knows =
            |evaluator: &&Arc<dyn Evaluator>| evaluator.foresee(function, &grants) != Outlook::Unknown;
        self.evaluators.iter().find(knows).is_some_and(|evaluator| evaluator.is_repeatable(function))
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        let mut outlooks = self.evaluators.iter().map(|evaluator| evaluator.foresee(function, grants));
        outlooks.find(|outlook| *outlook != Outlook::Unknown).unwrap_or(Outlook::Unknown)
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        for evaluator in &self.evaluators {
            match evaluator.identify(function, grants).await {
                Identity::Unknown => {}
                known => return known,
            }
        }
        Identity::Unknown
    }
}
