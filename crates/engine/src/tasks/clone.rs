//! A package that is copied from elsewhere, and remembers from where.

use async_trait::async_trait;
use lanai_krm::ignore::Dialect;
use lanai_krm::package::Package;
use lanai_krm::{Kptfile, mark};
use lanai_repository::packages::Event;

use super::{Handler, Made, Makes, Work, refused, while_doing, without_payload};
use crate::context;
use crate::error::Error;
use crate::kptfile::{self, Origin};
use crate::object::{Task, Upstream};

/// Copies a package from elsewhere.
pub struct Clone;

#[async_trait]
impl Handler for Clone {
    fn kind(&self) -> &'static str {
        "clone"
    }

    fn event(&self) -> Event {
        Event::Clone
    }

    fn makes(&self) -> Makes {
        Makes::Package
    }

    async fn apply(&self, work: &Work<'_>, task: &Task) -> Result<Made, Error> {
        let clone = task.clone.as_ref().ok_or_else(|| without_payload(self.kind()))?;
        let (package, origin) = source(work, &clone.upstream_ref).await?;
        Ok(Made { before: Some(package.clone()), ..Made::plain(adopted(work, package, &origin)?) })
    }
}

async fn source(work: &Work<'_>, upstream: &Upstream) -> Result<(Package, Origin), Error> {
    if let Some(reference) = &upstream.upstream_ref {
        if reference.name.is_empty() {
            return Err(refused("upstreamRef.name is required"));
        }
        let doing = format!("failed to fetch package revision \"{}\"", reference.name);
        let fetched = work.fetcher.revision(work.namespace, &reference.name).await;
        let fetched = fetched.map_err(|error| while_doing(&doing, error))?;
        if fetched.is_placeholder {
            return Err(refused(format!(
                "upstream revision may not be the placeholder package revision {}/{}",
                fetched.name.repository(),
                fetched.name
            )));
        }
        return Ok((fetched.package, fetched.origin));
    }
    if let Some(git) = &upstream.git {
        return work.fetcher.git(work.namespace, git).await;
    }
    if upstream.oci.is_some() {
        return Err(refused("clone from OCI is not implemented"));
    }
    Err(refused("invalid clone source (neither of git, oci, nor upstream were specified)"))
}

/// Gives a copy its own name, and says where it came from.
fn adopted(work: &Work<'_>, mut package: Package, origin: &Origin) -> Result<Package, Error> {
    let name = work.name.package().as_str();
    // A plain folder becomes a package.
    let mut kptfile = match package.get(&kptfile::path()) {
        Some(_) => kptfile::read(&package)?,
        None => Kptfile::new(name),
    };
    kptfile::set_name(&mut kptfile, name)?;
    kptfile::set_origin(&mut kptfile, origin)?;
    kptfile::mark(&mut kptfile)?;
    kptfile::write(&mut package, &kptfile)?;
    mark::mark(&mut package, Dialect::default());
    if work.repository.deployment {
        let path = match work.parent_path {
            Some(parent) => format!("{parent}/{name}"),
            None => name.to_owned(),
        };
        context::set(&mut package, name, &path)?;
    }
    Ok(package)
}
