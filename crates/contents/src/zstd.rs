//! Zstandard: all frames of a content (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::refusal::Refusal;

/// Unpacks frame after frame, and checks the checksum and the length of each.
pub(crate) struct ZstdReader<R> {
    input: R,
    decoder: FrameDecoder,
    is_inside: bool,
    /// Number of unpacked bytes of the frame.
    produced: u64,
}

impl<R: BufRead> ZstdReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            decoder: FrameDecoder::new(),
            is_inside: false,
            produced: 0,
        }
    }

    /// Checks the end of a frame.
    fn end(&mut self) -> Result<(), Refusal> {
        self.is_inside = false;
        let checksum = self.decoder.get_checksum_from_data();
        if checksum.is_some() && checksum != self.decoder.get_calculated_checksum() {
            return Err(Refusal::Damaged("the checksum of a zstd frame"));
        }
        // Frames without a stated length have 0 here.
        let stated = self.decoder.content_size();
        if stated != 0 && stated != self.produced {
            return Err(Refusal::Damaged("the length of a zstd frame"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_inside {
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                // Skippable frames, which hold anything, are an error here.
                self.decoder
                    .reset(&mut self.input)
                    .map_err(|_| Refusal::Damaged("a zstd frame"))?;
                (self.is_inside, self.produced) = (true, 0);
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                self.produced += read as u64;
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.end()?;
                continue;
            }
            let block = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder
                .decode_blocks(&mut self.input, block)
                .map_err(|_| Refusal::Damaged("a zstd block"))?;
        }
    }
}
