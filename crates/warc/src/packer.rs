//! Records compressed away from their file, by several threads at once, and then added to it.

use std::io::{Cursor, Read};

use crate::file::Style;
use crate::member::Member;
use crate::record::Draft;
use crate::render::render;
use crate::version::Version;
use crate::writer::Problem;

/// A whole record as an [`ArchiveFile`](crate::ArchiveFile) is to have it: a gzip member.
pub struct Packed {
    pub(crate) bytes: Vec<u8>,
}

/// Packs records one after another, in memory.
pub struct Packer {
    member: Member<Cursor<Vec<u8>>>,
    version: Version,
}

impl Packer {
    /// For files of that style.
    pub fn new(style: Style) -> Self {
        let mut member = Member::new(Cursor::new(Vec::new()), true);
        if style.skip_lengths {
            member.say_lengths();
        }
        Self {
            member,
            version: style.version,
        }
    }

    /// Packs a drafted record and its body. All of it is held in memory: this is for small ones.
    pub fn pack(
        &mut self,
        draft: &Draft,
        body: impl Read,
        body_length: u64,
    ) -> Result<Packed, Problem> {
        let length = body_length.saturating_add(draft.head.len() as u64);
        let head = render(&draft.header, self.version, length)?;
        // What a record that failed has left is dropped.
        *self.member.output_mut() = Cursor::new(Vec::new());
        self.member
            .write(&head, draft.head.as_slice().chain(body), length)?;
        let bytes = std::mem::take(self.member.output_mut()).into_inner();
        Ok(Packed { bytes })
    }
}
