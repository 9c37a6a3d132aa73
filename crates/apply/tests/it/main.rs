//! What writes make of objects: recorded from kube-apiserver, and properties.

mod properties;
mod recorded;
