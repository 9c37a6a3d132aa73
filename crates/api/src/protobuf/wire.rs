//! The pieces of a message: a number, and a value of one of four forms.

use super::Error;

/// A value as it stands in the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Piece<'b> {
    /// An integer, or true or false.
    Number(u64),
    /// A text, bytes, or a message.
    Bytes(&'b [u8]),
    /// Eight bytes: a number with a fraction.
    Eight(u64),
    /// Four bytes, which none of our fields has.
    Four,
}

impl<'b> Piece<'b> {
    pub fn bytes(&self) -> Result<&'b [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) | Self::Eight(_) | Self::Four => Err(Error::Damaged("wrong wireType")),
        }
    }

    pub fn number(&self) -> Result<u64, Error> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Bytes([]) => Ok(0),
            Self::Bytes(_) | Self::Eight(_) | Self::Four => Err(Error::Damaged("wrong wireType")),
        }
    }

    pub fn double(&self) -> Result<f64, Error> {
        match self {
            Self::Eight(bits) => Ok(f64::from_bits(*bits)),
            Self::Number(_) | Self::Bytes(_) | Self::Four => Err(Error::Damaged("wrong wireType")),
        }
    }
}

/// The pieces of a message, one after the other. It ends behind the first that cannot be read.
pub(super) struct Pieces<'b> {
    rest: &'b [u8],
}

impl<'b> Pieces<'b> {
    pub fn of(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0_u64;
        for at in 0..10 {
            let (byte, rest) = self.rest.split_first().ok_or(Error::Damaged("unexpected EOF"))?;
            self.rest = rest;
            if at == 9 && *byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Error::Damaged("integer overflow"))
    }

    fn take(&mut self, count: u64) -> Result<&'b [u8], Error> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.rest.len());
        let (taken, rest) = self.rest.split_at(count.ok_or(Error::Damaged("unexpected EOF"))?);
        self.rest = rest;
        Ok(taken)
    }

    fn piece(&mut self) -> Result<(u32, Piece<'b>), Error> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number = number.ok_or(Error::Damaged("illegal tag"))?;
        let piece = match key & 7 {
            0 => Piece::Number(self.varint()?),
            1 => {
                let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
                Piece::Eight(u64::from_le_bytes(bytes))
            }
            2 => {
                let count = self.varint()?;
                Piece::Bytes(self.take(count)?)
            }
            5 => {
                self.take(4)?;
                Piece::Four
            }
            // Groups have not been written for many years.
            _ => return Err(Error::Damaged("illegal wireType")),
        };
        Ok((number, piece))
    }
}

impl<'b> Iterator for Pieces<'b> {
    type Item = Result<(u32, Piece<'b>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let piece = self.piece();
        if piece.is_err() {
            self.rest = &[];
        }
        Some(piece)
    }
}
