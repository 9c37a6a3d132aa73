//! The kinds that are always there: those of Kubernetes that people and controllers expect, and ours.

mod built_in;
mod cells;
pub mod packages;

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::crd;
use crate::kind::{KindInfo, Origin};

/// The definitions of our kinds, as they can be given to another Kubernetes.
pub const DEFINITIONS: [&str; 4] = [
    include_str!("kinds/repository.yaml"),
    include_str!("kinds/functionconfig.yaml"),
    include_str!("kinds/packagerev.yaml"),
    include_str!("kinds/taskaction.yaml"),
];

/// All kinds that are always there.
pub fn all() -> &'static [Arc<KindInfo>] {
    static ALL: LazyLock<Vec<Arc<KindInfo>>> =
        LazyLock::new(|| built_in::all().into_iter().chain(ours()).map(Arc::new).collect());
    &ALL
}

/// A kind that is always there; the group of the core is empty.
pub fn find(group: &str, kind: &str) -> Option<&'static Arc<KindInfo>> {
    all().iter().find(|info| info.group == group && info.names.kind == kind)
}

fn ours() -> impl Iterator<Item = KindInfo> {
    DEFINITIONS.iter().map(|text| {
        let document = lanai_yaml::Document::parse(*text).expect("our definitions are YAML");
        let object: Value = document.root().deserialize().expect("our definitions are objects");
        let kind = crd::kind(&object).expect("our definitions define kinds");
        KindInfo { origin: Origin::Ours, ..kind }
    })
}
