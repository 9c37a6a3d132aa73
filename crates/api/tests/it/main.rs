//! Kinds, schemas and what is said of objects, by table.

mod kinds;
mod schemas;
