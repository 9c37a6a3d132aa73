//! The memory of a module, looked at with care.

use super::Errno;

/// All of it. Whatever a module says about places in it is looked at before it is believed.
pub(crate) struct View<'m>(pub &'m mut [u8]);

impl View<'_> {
    pub(crate) fn slice(&mut self, at: u32, length: u32) -> Result<&mut [u8], Errno> {
        let (at, length) = (at as usize, length as usize);
        let end = at.checked_add(length).ok_or(Errno::FAULT)?;
        self.0.get_mut(at..end).ok_or(Errno::FAULT)
    }

    pub(crate) fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Errno> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::FAULT)?;
        self.slice(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn u32(&mut self, at: u32) -> Result<u32, Errno> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    pub(crate) fn array<const N: usize>(&mut self, at: u32) -> Result<[u8; N], Errno> {
        let length = u32::try_from(N).map_err(|_| Errno::FAULT)?;
        self.slice(at, length)?.try_into().map_err(|_| Errno::FAULT)
    }
}
