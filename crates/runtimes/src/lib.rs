//! Who runs the functions of the packages that a server has.
//!
//! [`Functions`] is one chain of evaluators for each namespace, made of what the server was started with, of the `FunctionConfig` objects that a
//! controller hands over, and of the runner options of the namespace, which are read anew for each render. `docs/server-functions.md` is for users.
//!
//! | module | what it knows |
//! |---|---|
//! | `functions` | [`Functions`]: which chain a namespace has now |
//! | `chain` | which evaluators there are, and their order |
//! | [`options`] | the `ConfigMap` with the runner options of a namespace |
//! | [`pull`] | the Secrets by which registries know a namespace |
//! | `measured` | how long functions take, and how they end |
//! | `refusing` | what runs nothing, and says why |

mod chain;
mod functions;
mod measured;
pub mod options;
pub mod pull;
mod refusing;

pub use chain::Settings;
pub use functions::Functions;
pub use options::Limits;
