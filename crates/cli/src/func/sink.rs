//! `lanai fn sink`: writes resources to a new folder.

use super::args::Sink;
use super::{eval, output};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::persona::Persona;

pub(super) fn run(sink: &Sink, persona: Persona, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let folder = output::new_folder(&sink.folder, io)?;
    let list = eval::read_list(io)?;
    if persona == Persona::Lanai && list.items.is_empty() {
        return Err(Failure::of(Code::Text, "standard input has no resources: nothing was written"));
    }
    output::create(&folder, &list.items, io)?;
    Ok(Exit::Success)
}
