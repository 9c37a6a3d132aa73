//! Tests of the test kit from the outside.

mod manifests;
