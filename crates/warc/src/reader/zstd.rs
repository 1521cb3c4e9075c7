//! Decompresses zstd frames (RFC 8878), with the dictionary that may stand first (IIPC, warc-zstd 1.0).

use std::io::{self, Read, Seek};

use ruzstd::decoding::{BlockDecodingStrategy, Dictionary, FrameDecoder};

use super::error::{ReadErrorKind, ZstdError};
use super::window::{RawBytes, Window, WindowInput};

/// The first bytes of a frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes of the skippable frame with a dictionary, which only the first frame of a file can be.
const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

/// Bytes before the content of a skippable frame: magic and length.
const SKIPPABLE_HEAD: usize = 8;

/// Largest dictionary, in bytes. `zstd --train` makes 112 KiB unless told otherwise.
const LARGEST_DICTIONARY: u64 = 16 * 1024 * 1024;

/// Whether a file with these first bytes has zstd frames.
pub(super) fn begins_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&DICTIONARY_MAGIC)
}

/// The dictionary of a file, as it is stored.
struct StoredDictionary(Box<[u8]>);

impl StoredDictionary {
    /// Reads the dictionary at the beginning of a file; `None` if the file has none.
    fn read<R: Read>(input: &mut Window<RawBytes<R>>) -> Result<Option<Self>, ReadErrorKind> {
        let head = input.peek(SKIPPABLE_HEAD)?;
        let Some((magic, rest)) = head.split_first_chunk::<4>() else {
            return Ok(None);
        };
        if *magic != DICTIONARY_MAGIC {
            return Ok(None);
        }
        let length = rest.first_chunk::<4>().ok_or(ReadErrorKind::CutOff)?;
        let length = u64::from(u32::from_le_bytes(*length));
        if length > LARGEST_DICTIONARY {
            return Err(ZstdError::Dictionary.into());
        }
        input.consume(SKIPPABLE_HEAD);
        let mut stored = vec![];
        let mut bytes = WindowReader::new(input);
        let read = (&mut bytes).take(length).read_to_end(&mut stored);
        if let Some(failure) = bytes.failure.take() {
            return Err(failure);
        }
        if read? as u64 != length {
            return Err(ReadErrorKind::CutOff);
        }
        if stored.starts_with(&MAGIC) {
            stored = unpacked(&stored)?;
        }
        Ok(Some(Self(stored.into())))
    }

    /// A decoder that uses the dictionary, and its number.
    fn decoder(&self) -> Result<(Box<FrameDecoder>, u32), ReadErrorKind> {
        let dictionary = Dictionary::decode_dict(&self.0).map_err(|_| ZstdError::Dictionary)?;
        let (number, mut decoder) = (dictionary.id, Box::new(FrameDecoder::new()));
        decoder
            .add_dict(dictionary)
            .map_err(|_| ZstdError::Dictionary)?;
        Ok((decoder, number))
    }
}

/// The content of a dictionary that is compressed itself.
fn unpacked(frame: &[u8]) -> Result<Vec<u8>, ReadErrorKind> {
    let (mut input, mut decoder) = (frame, FrameDecoder::new());
    let failed = |_| ZstdError::Dictionary;
    decoder.reset(&mut input).map_err(failed)?;
    let mut content = vec![];
    while !decoder.is_finished() {
        decoder
            .decode_blocks(&mut input, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(failed)?;
        content.extend(decoder.collect().unwrap_or_default());
        if content.len() as u64 > LARGEST_DICTIONARY {
            return Err(ZstdError::Dictionary.into());
        }
    }
    content.extend(decoder.collect().unwrap_or_default());
    Ok(content)
}

/// Decompresses frame after frame. In a [`Window`] the bytes end with each frame, until [`Frames::begin`] moves to the
/// next.
pub(super) struct Frames<R> {
    input: Window<RawBytes<R>>,
    dictionary: Option<StoredDictionary>,
    decoder: Box<FrameDecoder>,
    /// The number of the dictionary, which frames use whether they name it or not.
    number: Option<u32>,
    is_inside: bool,
    /// The offset of the current frame in the file.
    start: u64,
    /// Decompressed bytes of the frames before.
    before: u64,
    /// Decompressed bytes of the current frame.
    produced: u64,
}

impl<R: Read> Frames<R> {
    /// Frames from here on.
    pub(super) fn new(input: Window<RawBytes<R>>) -> Self {
        Self {
            start: input.position(),
            input,
            dictionary: None,
            decoder: Box::default(),
            number: None,
            is_inside: false,
            before: 0,
            produced: 0,
        }
    }

    fn use_dictionary(
        &mut self,
        dictionary: Option<StoredDictionary>,
    ) -> Result<(), ReadErrorKind> {
        if let Some(dictionary) = dictionary {
            let (decoder, number) = dictionary.decoder()?;
            (self.decoder, self.number) = (decoder, Some(number));
            self.dictionary = Some(dictionary);
        }
        Ok(())
    }

    pub(super) fn input_mut(&mut self) -> &mut Window<RawBytes<R>> {
        &mut self.input
    }

    pub(super) fn probe(&self) -> FrameProbe {
        FrameProbe::new(self.dictionary.as_ref())
    }

    /// The position in the file; between frames, the beginning of the next.
    pub(super) fn position(&self) -> u64 {
        self.input.position()
    }

    /// The beginning of the current frame, in the file and in the decompressed content.
    pub(super) fn start(&self) -> (u64, u64) {
        (self.start, self.before)
    }

    /// Drops the state of the current frame, whatever the position of the input.
    pub(super) fn abandon(&mut self) {
        self.is_inside = false;
    }

    /// Whether zero bytes stand where a frame should begin.
    pub(super) fn are_zeros_next(&self) -> bool {
        !self.is_inside && self.input.bytes().iter().all(|byte| *byte == 0)
    }

    /// Moves to the next frame with content; false if there is none. At the beginning of the file its dictionary is read.
    pub(super) fn begin(&mut self) -> Result<bool, ReadErrorKind> {
        if self.input.position() == 0 && self.dictionary.is_none() {
            let dictionary = StoredDictionary::read(&mut self.input)?;
            self.use_dictionary(dictionary)?;
        }
        while let Some(length) = self.skippable()? {
            if !self.input.skip(length)? {
                return Err(ReadErrorKind::CutOff);
            }
        }
        self.before += std::mem::take(&mut self.produced);
        let bytes = self.input.peek(MAGIC.len())?;
        if bytes.is_empty() {
            return Ok(false);
        }
        if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            return Err(ZstdError::Header.into());
        }
        self.start = self.input.position();
        let mut bytes = WindowReader::new(&mut self.input);
        let begun = self.decoder.reset(&mut bytes);
        bytes.check(begun, ZstdError::Header)?;
        if let Some(number) = self.number {
            self.decoder
                .force_dict(number)
                .map_err(|_| ZstdError::Dictionary)?;
        }
        self.is_inside = true;
        Ok(true)
    }

    /// The length of a skippable frame that stands here.
    fn skippable(&mut self) -> Result<Option<u64>, ReadErrorKind> {
        let head = self.input.peek(SKIPPABLE_HEAD)?;
        let Some([kind, 0x2a, 0x4d, 0x18, length @ ..]) = head.first_chunk::<SKIPPABLE_HEAD>()
        else {
            return Ok(None);
        };
        let length = u64::from(u32::from_le_bytes(*length)) + SKIPPABLE_HEAD as u64;
        Ok((*kind & 0xf0 == 0x50).then_some(length))
    }

    /// Checks the end of a frame.
    fn end(&mut self) -> Result<(), ReadErrorKind> {
        self.is_inside = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(ZstdError::Checksum.into());
        }
        let stated = self.decoder.content_size();
        if stated != 0 && stated != self.produced {
            return Err(ZstdError::Length.into());
        }
        Ok(())
    }
}

impl<R: Read + Seek> Frames<R> {
    /// Reads the dictionary at the beginning of the file; the position stays.
    pub(super) fn read_dictionary(&mut self) -> Result<(), ReadErrorKind> {
        let here = self.input.position();
        self.input.seek(0)?;
        let read = StoredDictionary::read(&mut self.input);
        self.input.seek(here)?;
        match read.and_then(|dictionary| self.use_dictionary(dictionary)) {
            Err(ReadErrorKind::Input(error)) => Err(error.into()),
            // Frames that need it are damaged.
            _ => Ok(()),
        }
    }
}

impl<R: Read> WindowInput for Frames<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ReadErrorKind> {
        while self.is_inside {
            let given = self.decoder.read(into)?;
            if given > 0 {
                self.produced += given as u64;
                return Ok(given);
            }
            if self.decoder.is_finished() {
                self.end()?;
                break;
            }
            let mut bytes = WindowReader::new(&mut self.input);
            let block = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut bytes, block);
            bytes.check(decoded, ZstdError::Data)?;
        }
        Ok(0)
    }
}

/// Examines bytes that may be a frame.
pub(super) struct FrameProbe {
    decoder: Box<FrameDecoder>,
    number: Option<u32>,
}

impl FrameProbe {
    fn new(dictionary: Option<&StoredDictionary>) -> Self {
        match dictionary.map(StoredDictionary::decoder) {
            Some(Ok((decoder, number))) => Self {
                decoder,
                number: Some(number),
            },
            _ => Self {
                decoder: Box::default(),
                number: None,
            },
        }
    }

    /// The first decompressed bytes, at most `wanted`; fewer if the frame is damaged.
    pub(super) fn decompress(&mut self, mut bytes: &[u8], wanted: usize) -> Vec<u8> {
        let Self { decoder, number } = self;
        let is_begun = decoder.reset(&mut bytes).is_ok()
            && number.is_none_or(|number| decoder.force_dict(number).is_ok());
        let mut content = vec![0; if is_begun { wanted } else { 0 }];
        if is_begun {
            let block = BlockDecodingStrategy::UptoBlocks(1);
            // The reader reports damage after the first bytes.
            let _ = decoder.decode_blocks(&mut bytes, block);
            let given = decoder.read(&mut content).unwrap_or(0);
            content.truncate(given);
        }
        content
    }
}

/// Reads the bytes of a window, and keeps the error of its input.
struct WindowReader<'a, R> {
    window: &'a mut Window<RawBytes<R>>,
    failure: Option<ReadErrorKind>,
    is_at_end: bool,
}

impl<'a, R: Read> WindowReader<'a, R> {
    fn new(window: &'a mut Window<RawBytes<R>>) -> Self {
        Self {
            window,
            failure: None,
            is_at_end: false,
        }
    }

    /// The result of decoding: an error of the input, the end of the file, or `otherwise`.
    fn check<T, E>(self, result: Result<T, E>, otherwise: ZstdError) -> Result<T, ReadErrorKind> {
        result.map_err(|_| match self.failure {
            Some(failure) => failure,
            None if self.is_at_end => ReadErrorKind::CutOff,
            None => otherwise.into(),
        })
    }
}

impl<R: Read> Read for WindowReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let there = match self.window.peek(1) {
            Ok(there) => there,
            Err(failure) => {
                self.failure = Some(failure);
                return Err(io::ErrorKind::Other.into());
            }
        };
        let given = there.len().min(buffer.len());
        buffer[..given].copy_from_slice(&there[..given]);
        self.window.consume(given);
        self.is_at_end = given == 0;
        Ok(given)
    }
}
