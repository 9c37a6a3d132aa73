//! Acting as somebody else.

use http::HeaderMap;

use crate::authenticate::prefixed;
use crate::authorize::authorize;
use crate::core::Core;
use crate::identity::{AUTHENTICATED, Identity};
use crate::policy::{Ask, What};
use crate::status::Status;

/// Who a request acts as, and who sent it if that is somebody else.
pub(crate) async fn effective(
    core: &Core,
    headers: &HeaderMap,
    sender: Identity,
) -> Result<(Identity, Option<String>), Status> {
    let texts = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
    };
    let groups = texts("impersonate-group");
    let uid = texts("impersonate-uid").into_iter().next();
    let extra = prefixed(headers, "impersonate-extra-");
    let Some(user) = texts("impersonate-user").into_iter().next() else {
        if groups.is_empty() && uid.is_none() && extra.is_empty() {
            return Ok((sender, None));
        }
        return Err(Status::bad_request("requested groups, uid or extra without impersonating a user"));
    };
    let mut asks =
        vec![match user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
            Some((namespace, name)) => ask("", "serviceaccounts", "", namespace, name),
            None => ask("", "users", "", "", &user),
        }];
    asks.extend(groups.iter().map(|group| ask("", "groups", "", "", group)));
    asks.extend(uid.iter().map(|uid| ask("authentication.k8s.io", "uids", "", "", uid)));
    for (key, values) in &extra {
        asks.extend(values.iter().map(|value| ask("authentication.k8s.io", "userextras", key, "", value)));
    }
    for ask in &asks {
        authorize(core, &sender, ask).await?;
    }
    let mut identity = match user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'))
    {
        Some((namespace, name)) if groups.is_empty() => Identity::service_account(namespace, name),
        _ => Identity { user, groups, ..Identity::default() },
    };
    let is_known = identity.user != "system:anonymous";
    if is_known && !identity.is_in(AUTHENTICATED) {
        identity.groups.push(AUTHENTICATED.into());
    }
    identity.uid = uid;
    identity.extra = extra;
    Ok((identity, Some(sender.user)))
}

fn ask(group: &str, resource: &str, subresource: &str, namespace: &str, name: &str) -> Ask {
    let what = What::Resource {
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: namespace.into(),
        name: name.into(),
    };
    Ask { verb: "impersonate".into(), what }
}
