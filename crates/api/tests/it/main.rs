//! Kinds, schemas and what is said of objects, by table.

mod documents;
mod kinds;
mod leases;
mod protobuf;
mod recorded;
mod schemas;
