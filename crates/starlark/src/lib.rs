//! The function `starlark`: a script in its configuration changes the resources, or looks at them.
//!
//! | module | what it knows |
//! |---|---|
//! | `function` | the configuration, and what users should know |
//! | `limits`, `guard` | how much a script may use; what is refused before it runs |
//! | `engine` | what a script sees, and what it leaves |
//! | `modules` | what a script can load |
//! | `value`, `sync`, `items` | values of scripts, and bringing them back into resources without touching what is the same |
//! | `failure` | what is said when a script fails |
//!
//! It is a crate of its own because the engine takes long to build.

mod engine;
mod failure;
mod function;
mod guard;
mod items;
mod limits;
mod modules;
mod sync;
mod value;

pub use function::{Starlark, function};
pub use limits::Limits;
