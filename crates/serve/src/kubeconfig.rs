//! How clients find the server, and who they are to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::certificates::Pair;

/// The file in the data directory.
pub const FILE: &str = "kubeconfig";

/// The text of a kubeconfig for one server and one user.
pub fn text(address: SocketAddr, authority: &str, user: &Pair) -> String {
    let host = if address.ip().is_unspecified() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { address.ip() };
    let server = format!("https://{}", SocketAddr::new(host, address.port()));
    let encode = |pem: &str| STANDARD.encode(pem);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "lanai",
        "clusters": [{"name": "lanai", "cluster": {"server": server, "certificate-authority-data": encode(authority)}}],
        "contexts": [{"name": "lanai", "context": {"cluster": "lanai", "user": "lanai-admin", "namespace": "default"}}],
        "users": [{"name": "lanai-admin", "user": {
            "client-certificate-data": encode(&user.certificate), "client-key-data": encode(&user.key)}}],
    });
    lanai_yaml::Document::from_serialize(&config)
        .map_or_else(|_| config.to_string(), |document| document.to_string())
}
