//! What the controllers are given: the API without a socket, and the kinds that it always has.

use http::HeaderValue;
use http::header::USER_AGENT;
use lanai_apiserver::{ApiServer, Backing, Identity, Registry};
use lanai_controllers::Kind;
use tower::ServiceExt;

/// A client inside of the process, which acts as the controllers.
pub(crate) fn client(api: &ApiServer) -> kube::Client {
    acting_as(api, Identity::server("controllers"), "lanai-controllers")
}

/// A client inside of the process, which acts as somebody.
pub(crate) fn acting_as(api: &ApiServer, identity: Identity, program: &'static str) -> kube::Client {
    let service = api.acting_as(identity);
    let named = service.map_request(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(program));
        request
    });
    kube::Client::new(named, "default")
}

/// The kinds that controllers look after.
pub(crate) fn kinds(registry: &Registry) -> Vec<Kind> {
    let kind = |registered: &std::sync::Arc<lanai_apiserver::Registered>| {
        let backing = match registered.backing {
            Backing::Stored => lanai_controllers::Backing::Stored,
            Backing::Virtual(_) => lanai_controllers::Backing::Virtual,
            Backing::Answered => return None,
        };
        Kind::of(&registered.info, backing)
    };
    registry.all().filter_map(kind).collect()
}
