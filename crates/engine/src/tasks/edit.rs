//! A further revision of a package, copied from a published one.

use async_trait::async_trait;
use lanai_repository::packages::Event;

use super::{Handler, Made, Makes, Work, refused, while_doing, without_payload};
use crate::error::Error;
use crate::fetch::lifecycle;
use crate::object::Task;

/// Copies a published revision of the same package.
pub struct Edit;

#[async_trait]
impl Handler for Edit {
    fn kind(&self) -> &'static str {
        "edit"
    }

    fn event(&self) -> Event {
        Event::Edit
    }

    fn makes(&self) -> Makes {
        Makes::Revision
    }

    async fn apply(&self, work: &Work<'_>, task: &Task) -> Result<Made, Error> {
        let edit = task.edit.as_ref().ok_or_else(|| without_payload(self.kind()))?;
        let source = edit.source_ref.as_ref().filter(|source| !source.name.is_empty());
        let source = source.ok_or_else(|| refused("sourceRef.name is required"))?;
        let doing = format!("failed to fetch package \"{}\"", source.name);
        let fetched = work.fetcher.revision(work.namespace, &source.name).await;
        let fetched = fetched.map_err(|error| while_doing(&doing, error))?;
        let (name, target) = (&fetched.name, work.name);
        if name.repository() != target.repository() || name.package() != target.package() {
            return Err(refused(format!(
                "source revision must be from same package {}/{} (got: {}/{})",
                target.repository(),
                target.package(),
                name.repository(),
                name.package()
            )));
        }
        if fetched.is_placeholder {
            return Err(refused(format!(
                "source revision may not be the placeholder package revision {}/{name}",
                name.repository()
            )));
        }
        if !lifecycle(&fetched.known.object)?.is_published() {
            return Err(refused("source revision must be published"));
        }
        Ok(Made { before: Some(fetched.package.clone()), ..Made::plain(fetched.package) })
    }
}
