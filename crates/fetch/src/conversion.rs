//! Finds out whether a body that is not as promised is the promised content in another form.
//!
//! The promised bytes are not at hand, only their digest. So each form undoes one conversion while the body arrives,
//! and its digest is compared with the promise at the end: a conversion is never a guess.

use std::io::Write;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use flate2::write::MultiGzDecoder;
use urldb_format::Digest;
use urldb_verdict::{Conversion, Promise};

use crate::hasher::DigestHasher;

/// Most bytes of a body, and of its other form, that are looked at.
const LONGEST: u64 = 16 << 20;

/// A body may be this many times as long as promised, with CRLF line ends or in UTF-16, and this many bytes longer.
const GROWTH: (u64, u64) = (2, 4 << 10);

/// Bytes that are converted at once: packed ones may come to a thousand times as many.
const PIECE: usize = 4 << 10;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The encodings in which a promised text may be, beside UTF-8, by their labels: the first that fits is named.
const ENCODINGS: [&str; 13] = [
    "windows-1252",
    "iso-8859-15",
    "iso-8859-2",
    "windows-1250",
    "windows-1251",
    "koi8-r",
    "iso-8859-7",
    "windows-1254",
    "shift_jis",
    "euc-jp",
    "gb18030",
    "big5",
    "euc-kr",
];

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
    /// The forms of a body with this `Content-Type`; `None` if the promise has no digest or is too long.
    pub(crate) fn of(promise: &Promise, content_type: Option<&str>) -> Option<Self> {
        let longest = promise.length.unwrap_or(LONGEST);
        let promised = promise.strongest_digest().filter(|_| longest <= LONGEST)?;
        let algorithm = promised.algorithm();
        let forms = undoable(content_type).into_iter();
        let forms = forms.map(|(conversion, undo)| Form {
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
        let mut forms = self.forms.into_iter();
        forms.find_map(|mut form| {
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
fn undoable(content_type: Option<&str>) -> Vec<(Conversion, Box<dyn Undo>)> {
    let mut undoable: Vec<(Conversion, Box<dyn Undo>)> = vec![
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
    ];
    let encodings = encodings(content_type).into_iter();
    undoable.extend(encodings.map(|(served, promised)| {
        let conversion = Conversion::Encoding {
            served: served.name().into(),
            promised: promised.name().into(),
        };
        let undo: Box<dyn Undo> = Box::new(Recode::new(served, promised));
        (conversion, undo)
    }));
    undoable
}

/// Pairs of the encoding of a served text and that of the promised one: the encoding that the response names, or UTF-8
/// and windows-1252 if it names none.
fn encodings(content_type: Option<&str>) -> Vec<(&'static Encoding, &'static Encoding)> {
    let named = content_type.and_then(charset);
    let known = || {
        ENCODINGS
            .into_iter()
            .filter_map(|label| Encoding::for_label(label.as_bytes()))
    };
    let served: &[&'static Encoding] = match &named {
        Some(named) => std::slice::from_ref(named),
        None => &[UTF_8, WINDOWS_1252],
    };
    let pairs = served.iter().flat_map(|served| {
        let others = known().filter(move |_| named.is_some() || *served == UTF_8);
        let promised = std::iter::once(UTF_8).chain(others);
        promised
            .map(|promised| (*served, promised))
            .filter(|(served, promised)| served != promised)
    });
    pairs.collect()
}

/// The encoding that a `Content-Type` names.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    let label = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    })?;
    Encoding::for_label(label.as_bytes())
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

/// The text in another encoding.
struct Recode {
    decoder: encoding_rs::Decoder,
    encoder: encoding_rs::Encoder,
}

impl Recode {
    fn new(served: &'static Encoding, promised: &'static Encoding) -> Self {
        Self {
            // The mark of UTF-16 is no part of the text.
            decoder: if served.is_ascii_compatible() {
                served.new_decoder_without_bom_handling()
            } else {
                served.new_decoder_with_bom_removal()
            },
            encoder: promised.new_encoder(),
        }
    }

    fn recode(&mut self, bytes: &[u8], out: &mut Vec<u8>, is_last: bool) -> bool {
        let room = self
            .decoder
            .max_utf8_buffer_length_without_replacement(bytes.len());
        let mut text = String::with_capacity(room.unwrap_or_default());
        let (result, _) = self
            .decoder
            .decode_to_string_without_replacement(bytes, &mut text, is_last);
        let is_text = result == encoding_rs::DecoderResult::InputEmpty && !text.contains('\0');
        let room = self
            .encoder
            .max_buffer_length_from_utf8_without_replacement(text.len());
        out.reserve(room.unwrap_or_default());
        let (result, _) = self
            .encoder
            .encode_from_utf8_to_vec_without_replacement(&text, out, is_last);
        is_text && result == encoding_rs::EncoderResult::InputEmpty
    }
}

impl Undo for Recode {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.recode(bytes, out, false)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        self.recode(&[], out, true)
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

    fn found(
        promised: &Promise,
        served: &[u8],
        content_type: &str,
        piece: usize,
    ) -> Option<Conversion> {
        let mut forms = Conversions::of(promised, Some(content_type))?;
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
                prop_assert_eq!(found(&plain, &served, "text/plain", piece), Some(conversion));
            }
            let crlf = promise(text.replace('\n', "\r\n").as_bytes(), has_length);
            prop_assert_eq!(found(&crlf, text.as_bytes(), "text/csv", piece), Some(Conversion::LfForCrlf));
            let marked = promise(&[MARK, text.as_bytes()].concat(), has_length);
            prop_assert_eq!(found(&marked, text.as_bytes(), "text/csv", piece), Some(Conversion::MarkRemoved));
            let cut = text.trim_end_matches('\n');
            if !cut.is_empty() {
                let one = format!("{cut}\n");
                let promised = promise(one.as_bytes(), has_length);
                prop_assert_eq!(
                    found(&promised, cut.as_bytes(), "text/csv", piece),
                    Some(Conversion::LastLineEndRemoved)
                );
            }
        }

        #[test]
        fn other_bytes_have_no_conversion(
            promised: Vec<u8>,
            served: Vec<u8>,
            charset in prop::sample::select(vec!["text/plain", "text/plain; charset=koi8-r", "a; charset=utf-16"]),
        ) {
            let undone: Vec<_> = converted(&String::from_utf8_lossy(&promised)).into_iter().map(|(_, it)| it).collect();
            prop_assume!(promised.len() > 9 && !undone.contains(&served));
            prop_assert_eq!(found(&promise(&promised, true), &served, charset, 7), None);
        }

        #[test]
        fn encodings_are_told(text in "[a-z]{0,5}[а-яА-Я]{1,20}[a-z]{0,5}\n", piece in 1usize..50) {
            for (from, to) in [("utf-8", "koi8-r"), ("koi8-r", "utf-8"), ("windows-1251", "utf-8"), ("koi8-r", "windows-1251")] {
                let encode = |label: &str| {
                    let encoding = Encoding::for_label(label.as_bytes()).unwrap();
                    (encoding.name(), encoding.encode(&text).0)
                };
                let ((from, served), (to, promised)) = (encode(from), encode(to));
                let content_type = format!("text/plain; x=y; Charset=\"{from}\"");
                let conversion = found(&promise(&promised, true), &served, &content_type, piece);
                if served == promised {
                    continue;
                }
                let Some(Conversion::Encoding { served: named, promised: other }) = conversion else {
                    return Err(TestCaseError::fail(format!("{from} for {to}: {conversion:?}")));
                };
                prop_assert_eq!(&*named, from);
                // Another encoding may have the same bytes of this text.
                let other = Encoding::for_label(other.as_bytes()).unwrap();
                prop_assert_eq!(other.encode(&text).0, promised, "{}", to);
            }
        }
    }

    #[test]
    fn utf_16_comes_in_place_of_utf_8() {
        let served: Vec<u8> = "\u{feff}é\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let promised = promise("é\n".as_bytes(), true);
        let conversion = found(&promised, &served, "text/plain; charset=utf-16le", 3);
        let expected = Conversion::Encoding {
            served: "UTF-16LE".into(),
            promised: "UTF-8".into(),
        };
        assert_eq!(conversion, Some(expected));
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let mut forms = Conversions::of(&promise(b"short", true), None).unwrap();
        forms.push(&bomb);
        assert!(!forms.are_open());
        let mut unknown = Conversions::of(&promise(b"short", false), None).unwrap();
        unknown.push(&bomb);
        assert_eq!(unknown.finish(), None);
    }
}
