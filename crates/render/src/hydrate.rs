//! Running all pipelines of a tree in order.

use std::collections::BTreeMap;

use lanai_krm::package::{self, Folder, Reading};
use lanai_krm::resource::Origin;
use lanai_krm::{Package, Resource};

use crate::ahead;
use crate::check::pipeline as check_pipeline;
use crate::error::{Cause, Failure};
use crate::held::Held;
use crate::message::Place;
use crate::pipeline::Run;
use crate::tree::{self, Kptfiles, Node, Order, Visit};
use crate::watch::Event;

/// What was read of each package: its own resources, or why it has none.
type Read = BTreeMap<Folder, Result<Vec<Resource>, package::Error>>;

/// Runs the pipelines. Afterwards `held` has the resources as they are then, those of packages that were not reached left out.
pub(crate) async fn hydrate(
    run: &mut Run<'_>,
    nodes: &[Node],
    kptfiles: &Kptfiles,
    order: Order,
    reading: Result<&Reading, &package::Error>,
    held: &mut Held,
) -> Result<(), Failure> {
    let place = |at: usize| Place { nodes, at, order };
    let limits = run.options.limits;
    if let Some(deep) = nodes.iter().position(|node| node.depth > limits.max_depth) {
        return Err(place(deep).failure(Cause::TooDeep { limit: limits.max_depth }));
    }
    let reading = reading.map_err(|error| place(0).failure(error.clone().into()))?;
    let mut files = by_owner(reading, run.package);
    let mut waiting: usize = files.values().map(|read| read.as_ref().map_or(0, Vec::len)).sum();
    if waiting > limits.max_items {
        return Err(place(0).failure(Cause::TooManyItems { found: waiting, limit: limits.max_items }));
    }
    ahead::check(run, nodes, kptfiles).map_err(|cause| place(0).failure(cause))?;
    for visit in tree::schedule(nodes, order) {
        match visit {
            Visit::Enter(at) => {
                let node = &nodes[at];
                if let Some(Ok(kptfile)) = kptfiles.get(at).filter(|_| at > 0) {
                    check_pipeline(run.package, &node.folder, kptfile)
                        .map_err(|bad| place(at).invalid(bad))?;
                }
                let own = files.remove(&node.folder).unwrap_or(Ok(Vec::new()));
                let own = own.map_err(|error| place(at).failure(error.into()))?;
                waiting -= own.len();
                held.enter(&node.folder, own);
                // One that is broken stops its siblings, too.
                for inner in &node.inner {
                    if let Some(Err(error)) = kptfiles.get(*inner) {
                        return Err(place(*inner).unreadable(error.clone()));
                    }
                }
            }
            Visit::Run(at) => {
                let Some(Ok(kptfile)) = kptfiles.get(at) else { continue };
                run.watch.see(Event::Package { name: &nodes[at].name });
                let mut items = held.take(&nodes[at].folder);
                let elsewhere = held.len() + waiting;
                let done = run.pipeline(&nodes[at], kptfile, &mut items, elsewhere).await;
                held.give(items);
                done.map_err(|cause| place(at).failure(cause))?;
            }
        }
    }
    Ok(())
}

/// All resources, by the package that they belong to, each with its origin.
fn by_owner(reading: &Reading, package: &Package) -> Read {
    let mut read = Read::new();
    for file in reading.resources_by_file() {
        let folder = package.owner(&file.path);
        let own = read.entry(folder.clone()).or_insert_with(|| Ok(Vec::new()));
        // The first file of a package that cannot be read says why.
        let Ok(resources) = own else { continue };
        match file.resources {
            Err(error) => *own = Err(error),
            Ok(located) => {
                resources.extend(located.into_iter().map(|located| {
                    let path = folder.relative(&located.path).unwrap_or(located.path);
                    let (package, index) = (folder.clone(), Some(located.index));
                    placed(located.resource, Origin { package, path, index, serial: None })
                }));
            }
        }
    }
    read
}

/// The resource with its origin. What its text says about its place is not asked: it is from another time.
pub(crate) fn placed(mut resource: Resource, origin: Origin) -> Resource {
    let _ = resource.remove_location();
    resource.set_origin(Some(origin));
    resource
}
