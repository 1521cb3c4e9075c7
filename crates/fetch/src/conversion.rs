//! Finds out whether a body that is not as promised is the promised content in another form.
//!
//! The promised bytes are not at hand, only their digest. So each form undoes one conversion while the body arrives,
//! and its digest is compared with the promise at the end: a conversion is never a guess.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use urldb_format::Digest;
use urldb_verdict::{Conversion, Promise};

use crate::hasher::DigestHasher;

/// Most bytes of a body, and of its other form, that are looked at.
const LONGEST: u64 = 16 << 20;

/// A body may be this many times as long as promised, with CRLF line ends, and this many bytes longer.
const GROWTH: (u64, u64) = (2, 4 << 10);

/// Bytes that are converted at once: packed ones may come to a thousand times as many.
const PIECE: usize = 4 << 10;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The forms that a body may still have.
pub(crate) struct Conversions {
    promised: Digest,
    /// The promised length, or the most bytes that are looked at.
    longest: u64,
    length: u64,
    forms: Vec<Form>,
}

/// A body without one conversion.
struct Form {
    conversion: Conversion,
    undo: Box<dyn Undo>,
    hasher: DigestHasher,
    length: u64,
}

/// Undoes a conversion piece by piece.
trait Undo: Send + Sync {
    /// Appends what the next bytes come to. Returns false if the body does not have this form.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool;

    /// The same at the end of the body.
    fn finish(&mut self, out: &mut Vec<u8>) -> bool;
}

impl Conversions {
    /// The forms of a body; `None` if the promise has no digest or is too long.
    pub(crate) fn of(promise: &Promise) -> Option<Self> {
        let longest = promise.length.unwrap_or(LONGEST);
        let promised = promise.strongest_digest().filter(|_| longest <= LONGEST)?;
        let algorithm = promised.algorithm();
        let forms = undoable().into_iter().map(|(conversion, undo)| Form {
            conversion,
            undo,
            hasher: DigestHasher::new(algorithm),
            length: 0,
        });
        Some(Self {
            longest,
            length: 0,
            forms: forms.collect(),
            promised,
        })
    }

    /// Whether any form is still possible.
    pub(crate) fn are_open(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Number of bytes that a body of such a form has at most.
    pub(crate) fn longest(&self) -> u64 {
        let (times, more) = GROWTH;
        self.longest * times + more
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length > self.longest() {
            self.forms.clear();
        }
        let longest = self.longest;
        let mut out = Vec::new();
        for piece in bytes.chunks(PIECE) {
            self.forms.retain_mut(|form| {
                out.clear();
                form.undo.push(piece, &mut out) && form.add(&out, longest)
            });
        }
    }

    /// The conversion whose form has the promised digest.
    pub(crate) fn finish(self) -> Option<Conversion> {
        self.forms.into_iter().find_map(|mut form| {
            let mut out = Vec::new();
            let is_form = form.undo.finish(&mut out) && form.add(&out, self.longest);
            let digest = form.hasher.finish().filter(|_| is_form)?;
            (digest == self.promised).then_some(form.conversion)
        })
    }
}

impl Form {
    /// Adds bytes of the form; returns whether the form is not too long.
    fn add(&mut self, bytes: &[u8], longest: u64) -> bool {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        self.length <= longest
    }
}

/// The conversions that can be undone, in the order in which they are named.
fn undoable() -> Vec<(Conversion, Box<dyn Undo>)> {
    vec![
        (Conversion::CrlfForLf, Box::new(ToLf::default())),
        (Conversion::LfForCrlf, Box::new(ToCrlf::default())),
        (Conversion::MarkAdded, Box::new(WithoutMark::default())),
        (Conversion::MarkRemoved, Box::new(WithMark::default())),
        (
            Conversion::LastLineEndAdded,
            Box::new(WithoutLastLineEnd::default()),
        ),
        (Conversion::LastLineEndRemoved, Box::new(WithLastLineEnd)),
        (
            Conversion::Gzip,
            Box::new(Gunzip(MultiGzDecoder::new(Vec::new()))),
        ),
    ]
}

/// LF in place of CRLF.
#[derive(Default)]
struct ToLf {
    /// The last byte was a CR, which is not written yet.
    has_cr: bool,
}

impl Undo for ToLf {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        for byte in bytes {
            if std::mem::take(&mut self.has_cr) && *byte != b'\n' {
                out.push(b'\r');
            }
            if *byte == b'\r' {
                self.has_cr = true;
            } else {
                out.push(*byte);
            }
        }
        true
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        out.extend(self.has_cr.then_some(b'\r'));
        true
    }
}

/// CRLF in place of LF.
#[derive(Default)]
struct ToCrlf {
    /// The last byte was a CR.
    is_after_cr: bool,
}

impl Undo for ToCrlf {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        for byte in bytes {
            if *byte == b'\n' && !self.is_after_cr {
                out.push(b'\r');
            }
            self.is_after_cr = *byte == b'\r';
            out.push(*byte);
        }
        true
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> bool {
        true
    }
}

/// The text without a byte order mark, which it must have.
#[derive(Default)]
struct WithoutMark {
    /// Number of bytes of the mark so far.
    found: usize,
}

impl Undo for WithoutMark {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let rest = &MARK[self.found..];
        let length = rest.len().min(bytes.len());
        self.found += length;
        out.extend(&bytes[length..]);
        bytes[..length] == rest[..length]
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> bool {
        self.found == MARK.len()
    }
}

/// The text after a byte order mark.
#[derive(Default)]
struct WithMark {
    has_begun: bool,
}

impl Undo for WithMark {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        if !std::mem::replace(&mut self.has_begun, true) {
            out.extend(MARK);
        }
        out.extend(bytes);
        true
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> bool {
        self.has_begun
    }
}

/// The text without its last line end, LF or CRLF.
#[derive(Default)]
struct WithoutLastLineEnd {
    /// The bytes that may be the last line end.
    held: Vec<u8>,
}

impl Undo for WithoutLastLineEnd {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.held.extend(bytes);
        let length = match self.held[..] {
            [.., b'\r', b'\n'] => 2,
            [.., b'\r' | b'\n'] => 1,
            _ => 0,
        };
        out.extend(self.held.drain(..self.held.len() - length));
        true
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> bool {
        self.held.ends_with(b"\n")
    }
}

/// The text with a line end after it.
struct WithLastLineEnd;

impl Undo for WithLastLineEnd {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        out.extend(bytes);
        true
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        out.push(b'\n');
        true
    }
}

/// The content of a gzip file.
struct Gunzip(MultiGzDecoder<Vec<u8>>);

impl Undo for Gunzip {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let is_gzip = self.0.write_all(bytes).is_ok();
        out.append(self.0.get_mut());
        is_gzip
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let is_whole = self.0.try_finish().is_ok();
        out.append(self.0.get_mut());
        is_whole
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::Sha256;

    use super::*;

    fn promise(bytes: &[u8], has_length: bool) -> Promise {
        Promise {
            length: has_length.then_some(bytes.len() as u64),
            sha256: Some(
                sha2::Digest::finalize(sha2::Digest::chain_update(
                    <Sha256 as sha2::Digest>::new(),
                    bytes,
                ))
                .into(),
            ),
            ..Promise::default()
        }
    }

    fn found(promised: &Promise, served: &[u8], piece: usize) -> Option<Conversion> {
        let mut forms = Conversions::of(promised)?;
        for piece in served.chunks(piece) {
            forms.push(piece);
        }
        forms.finish()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The conversions of a text with LF, and what each yields.
    fn converted(text: &str) -> Vec<(Conversion, Vec<u8>)> {
        vec![
            (
                Conversion::CrlfForLf,
                text.replace('\n', "\r\n").into_bytes(),
            ),
            (Conversion::MarkAdded, [MARK, text.as_bytes()].concat()),
            (
                Conversion::LastLineEndAdded,
                [text.as_bytes(), b"\n"].concat(),
            ),
            (Conversion::Gzip, gzip(text.as_bytes())),
        ]
    }

    proptest! {
        #[test]
        fn each_conversion_is_found_in_any_pieces(
            text in "([a-zé]{0,9}\n){1,20}",
            piece in 1usize..9000,
            has_length: bool,
        ) {
            let plain = promise(text.as_bytes(), has_length);
            for (conversion, served) in converted(&text) {
                prop_assert_eq!(found(&plain, &served, piece), Some(conversion));
            }
            let crlf = promise(text.replace('\n', "\r\n").as_bytes(), has_length);
            prop_assert_eq!(found(&crlf, text.as_bytes(), piece), Some(Conversion::LfForCrlf));
            let marked = promise(&[MARK, text.as_bytes()].concat(), has_length);
            prop_assert_eq!(found(&marked, text.as_bytes(), piece), Some(Conversion::MarkRemoved));
            let cut = text.trim_end_matches('\n');
            if !cut.is_empty() {
                let one = format!("{cut}\n");
                let promised = promise(one.as_bytes(), has_length);
                prop_assert_eq!(
                    found(&promised, cut.as_bytes(), piece),
                    Some(Conversion::LastLineEndRemoved)
                );
            }
        }

        #[test]
        fn other_bytes_have_no_conversion(
            promised: Vec<u8>,
            served: Vec<u8>,
        ) {
            let undone: Vec<_> = converted(&String::from_utf8_lossy(&promised)).into_iter().map(|(_, it)| it).collect();
            prop_assume!(promised.len() > 9 && !undone.contains(&served));
            prop_assert_eq!(found(&promise(&promised, true), &served, 7), None);
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let mut forms = Conversions::of(&promise(b"short", true)).unwrap();
        forms.push(&bomb);
        assert!(!forms.are_open());
        let mut unknown = Conversions::of(&promise(b"short", false)).unwrap();
        unknown.push(&bomb);
        assert_eq!(unknown.finish(), None);
    }
}
