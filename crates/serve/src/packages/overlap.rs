//! Repositories that would see the same packages are refused.

use async_trait::async_trait;
use lanai_apiserver::{Admission, Status};
use lanai_store::{Store, Write};
use serde_json::Value;

use super::status;

/// Looks at Repositories before they are written.
#[derive(Debug)]
pub(crate) struct Overlap;

#[async_trait]
impl Admission for Overlap {
    async fn admit(
        &self,
        store: &dyn Store,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Write>, Status> {
        lanai_engine::overlap::admit(store, new, old).await.map_err(|error| status::of(&error))
    }
}
