//! Tests of packages on disks.

mod changes;
mod hostile;
mod killed;
mod reading;
mod support;
mod views;
mod writers;
