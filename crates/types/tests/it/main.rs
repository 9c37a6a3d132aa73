//! The types of this crate, seen from outside.

mod ids;
mod lifecycle;
mod limits;
mod names;
mod object_name;
mod ref_name;
mod safe_path;
