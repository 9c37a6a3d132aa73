//! Begins and ends the controllers.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use lanai_engine::Engine;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::controller::Context;
use crate::defaults::Defaults;
use crate::definition::Definitions;
use crate::driver::{Driven, drive};
use crate::function_config::FunctionConfigs;
use crate::garbage::Garbage;
use crate::hub;
use crate::kind::{Kind, Kinds};
use crate::namespace::Namespaces;
use crate::repository::Repositories;

/// What controllers are given.
pub struct Options {
    /// The API.
    pub client: Client,
    /// The kinds that are always there; those of definitions are found.
    pub kinds: Vec<Kind>,
    /// The certificate of the authority of the server, in PEM.
    pub authority: String,
    /// Who looks at repositories of packages; without, nobody does.
    pub engine: Option<Engine>,
    /// Who takes over which functions are configured; without, nobody does.
    pub functions: Option<FunctionConfigs>,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// All controllers: a line each.
fn all(options: &Options) -> Vec<Arc<dyn Driven>> {
    let mut all = vec![
        drive(Namespaces::default()),
        drive(Defaults { authority: options.authority.clone() }),
        drive(Garbage::default()),
        drive(Definitions::default()),
    ];
    all.extend(options.functions.clone().map(drive));
    all.extend(options.engine.clone().map(|engine| drive(Repositories::new(engine))));
    all
}

/// Runs all controllers until the token.
pub async fn run(options: Options, stop: CancellationToken) {
    let controllers = all(&options);
    let kinds = Arc::new(Kinds::new(options.kinds));
    let context = Context { client: options.client, kinds, clock: options.clock };
    let tasks = TaskTracker::new();
    for controller in &controllers {
        let (controller, context, stop) = (controller.clone(), context.clone(), stop.clone());
        tasks.spawn(async move { controller.run(context, stop).await });
    }
    hub::run(&context, &controllers, stop.clone()).await;
    stop.cancelled().await;
    tasks.close();
    tasks.wait().await;
}
