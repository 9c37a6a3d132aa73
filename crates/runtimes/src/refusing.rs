//! What runs nothing.

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Identity, Outlook, Request, Response};

/// Refuses every function, for one reason. Pipelines without functions do not notice.
pub(crate) struct Refusing(pub String);

#[async_trait]
impl Evaluator for Refusing {
    async fn evaluate(&self, _: Request, _: &Deadline) -> Result<Response, Error> {
        Err(Error::Refused(self.0.clone()))
    }

    fn foresee(&self, _: &FunctionRef, _: &Grants) -> Outlook {
        Outlook::Cannot(self.0.clone())
    }

    async fn identify(&self, _: &FunctionRef, _: &Grants) -> Identity {
        Identity::Volatile("it does not run".to_owned())
    }
}
