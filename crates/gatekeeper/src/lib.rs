//! The function `gatekeeper`: policies in the list are checked on the list.
//!
//! | module | what it knows |
//! |---|---|
//! | `function` | running the policies, and what users should know |
//! | `template` | templates of policies: their Rego, ready to run |
//! | `constraint` | policies: where a template applies, with which parameters |
//! | `scope` | whether a policy applies to a resource |
//! | `review` | what the Rego of a policy sees |
//! | `limits`, `guard`, `recursion` | how much a policy may use; what is refused before it runs |
//!
//! It is a crate of its own because the engine takes long to build.

mod constraint;
mod function;
mod guard;
mod limits;
mod recursion;
mod review;
mod scope;
mod template;

pub use function::{Gatekeeper, function};
pub use limits::Limits;
