//! A header of tar: 512 bytes, with numbers in octal digits.

use std::ops::Range;

use crate::refusal::Refusal;

/// Size of a block, in bytes.
pub(crate) const BLOCK: usize = 512;

const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const OWNER: Range<usize> = 108..116;
const GROUP: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const TIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const KIND: usize = 156;
const LINK: Range<usize> = 157..257;
const MAGIC: Range<usize> = 257..265;
const MAJOR: Range<usize> = 329..337;
const MINOR: Range<usize> = 337..345;
const PREFIX: Range<usize> = 345..500;
/// The place where the format of star has a name of its own.
const STAR: Range<usize> = 508..512;

/// The bits of a mode that are permissions.
const PERMISSIONS: u64 = 0o7777;

#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a>(pub(super) &'a [u8; BLOCK]);

impl<'a> Header<'a> {
    pub(super) fn is_zero(self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Whether the checksum fits: the sum of all bytes, with spaces in place of the checksum.
    pub(super) fn has_checksum(self) -> bool {
        let sum: u64 = self.0.iter().map(|byte| u64::from(*byte)).sum();
        let own: u64 = self.0[CHECKSUM].iter().map(|byte| u64::from(*byte)).sum();
        number(&self.0[CHECKSUM]) == Ok(sum - own + 8 * u64::from(b' '))
    }

    /// Refuses headers that are damaged, or of a format with other fields.
    pub(super) fn check(self) -> Result<(), Refusal> {
        if !self.has_checksum() {
            return Err(Refusal::Damaged("the checksum of a header"));
        }
        let is_known = self.is_ustar() || self.0[MAGIC] == *b"ustar  \0" || self.0[MAGIC] == [0; 8];
        if !is_known || self.0[STAR] == *b"tar\0" {
            return Err(Refusal::Unsupported("a format of tar"));
        }
        // Programs that unpack the archive fail at other owners and times. A time may be negative.
        let is_negative = self.0[TIME.start] == 0xff;
        let are_numbers = [OWNER, GROUP].map(|range| number(&self.0[range]).is_ok()) == [true; 2]
            && (is_negative || number(&self.0[TIME]).is_ok());
        if !are_numbers {
            return Err(Refusal::Damaged("the owner or the time of a member"));
        }
        Ok(())
    }

    fn is_ustar(self) -> bool {
        self.0[MAGIC] == *b"ustar\x0000"
    }

    /// The type of member.
    pub(super) fn kind(self) -> u8 {
        self.0[KIND]
    }

    pub(super) fn name(self) -> Vec<u8> {
        let name = text(&self.0[NAME]);
        // The format of GNU has times in place of the prefix.
        match text(&self.0[PREFIX]) {
            b"" => name.to_vec(),
            prefix if self.is_ustar() => [prefix, name].join(&b'/'),
            _ => name.to_vec(),
        }
    }

    pub(super) fn link(self) -> &'a [u8] {
        text(&self.0[LINK])
    }

    pub(super) fn size(self) -> Result<u64, Refusal> {
        number(&self.0[SIZE]).map_err(Refusal::Damaged)
    }

    pub(super) fn mode(self) -> Result<u32, Refusal> {
        let mode = number(&self.0[MODE]).map_err(Refusal::Damaged)?;
        Ok(u32::try_from(mode & PERMISSIONS).unwrap_or_default())
    }

    pub(super) fn device_numbers(self) -> Result<(u64, u64), Refusal> {
        let field = |range| number(&self.0[range]).map_err(Refusal::Damaged);
        Ok((field(MAJOR)?, field(MINOR)?))
    }
}

/// The text of a field, which ends with a zero byte or with the field.
fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0);
    &field[..end.unwrap_or(field.len())]
}

/// A number in octal digits, with spaces around them, or in the binary form of GNU.
fn number(field: &[u8]) -> Result<u64, &'static str> {
    const WRONG: &str = "a number in a header";
    if field[0] & 0x80 != 0 {
        let digits = [&[field[0] & 0x7f], &field[1..]].concat();
        let (high, low) = digits.split_at(digits.len() - 8);
        if field[0] != 0x80 || high.iter().any(|byte| *byte != 0) {
            return Err(WRONG);
        }
        let low = low.first_chunk().ok_or(WRONG)?;
        return Ok(u64::from_be_bytes(*low));
    }
    let digits = text(field).trim_ascii();
    // An empty number is 0 in old archives.
    digits.iter().try_fold(0_u64, |value, digit| match digit {
        b'0'..=b'7' => {
            let value = value.checked_mul(8).ok_or(WRONG)?;
            Ok(value + u64::from(digit - b'0'))
        }
        _ => Err(WRONG),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_binary() {
        assert_eq!(number(b"0000644\0"), Ok(0o644));
        assert_eq!(number(b"   644 \0"), Ok(0o644));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0"), Ok(0));
        assert_eq!(number(b"77777777777\0"), Ok(0o77_777_777_777));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Ok(2 << 32));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02"), Ok(2));
        for wrong in [
            &b"0000698\0"[..],
            b"-000001\0",
            b"06 44\0\0\0",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(number(wrong).is_err(), "{wrong:?}");
        }
        assert!(number(b"\x80\0\0\x01\0\0\0\0\0\0\0\0").is_err());
    }
}
