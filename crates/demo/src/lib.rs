//! A small world to look around in: blueprints, two repositories with what was made of them, a draft that does not render, and an
//! upgrade with a conflict.
//!
//! | module | what it is about |
//! |---|---|
//! | `files` | the packages, from `demo/` of this repository |
//! | `world` | what is made, and in which order |
//! | `seed` | makes it, through the API |
//! | `tour` | lines to copy |

mod files;
mod seed;
mod tour;
mod world;

pub use seed::{Error, seed};
pub use tour::{Tools, Tour};
