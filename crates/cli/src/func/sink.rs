//! `lanai fn sink`: writes resources to a new folder.

use super::args::Sink;
use super::{eval, output};
use crate::failure::Failure;
use crate::io::{Exit, Io};

pub(super) fn run(sink: &Sink, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let folder = output::new_folder(&sink.folder, io)?;
    let list = eval::read_list(io)?;
    output::create(&folder, &list.items, io)?;
    Ok(Exit::Success)
}
