//! All functions that come with the binary.

use lanai_functions::Function;

/// All functions that [`Native`](crate::Native) can run, by name: those of the catalog, and those whose engines are crates of their
/// own.
pub fn functions() -> Vec<&'static dyn Function> {
    let heavy = [lanai_gatekeeper::function(), lanai_schema::function(), lanai_starlark::function()];
    let mut functions: Vec<_> = lanai_functions::catalog().iter().copied().chain(heavy).collect();
    functions.sort_by_key(|function| function.name());
    functions
}
