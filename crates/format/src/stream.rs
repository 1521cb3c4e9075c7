//! Reads the documents of a stream in chunks, so that memory does not grow with the stream.

use std::io::{self, Read};

use urldb_text::Finding;

use crate::chunks::{CHUNK_SIZE, ChunkReader};
use crate::document::Document;
use crate::read::DocumentReader;
use crate::split::split;
use crate::value::Schema;

/// The documents of a stream, part by part, each part with its findings. Ends after an error.
#[derive(Debug)]
pub struct DocumentParts<'a, R> {
    /// `None` after an error.
    reader: Option<ChunkReader<R>>,
    schema: &'a Schema,
    /// The number of lines in the parts before.
    lines: usize,
    in_conflict: bool,
}

/// Reads all documents of `source`, as [`crate::read_documents`] reads those of a text. Their lines are
/// those of the whole stream.
pub fn read_documents_from<R: Read>(source: R, schema: &Schema) -> DocumentParts<'_, R> {
    DocumentParts {
        reader: Some(ChunkReader::new(source, CHUNK_SIZE)),
        schema,
        lines: 0,
        in_conflict: false,
    }
}

impl<R: Read> Iterator for DocumentParts<'_, R> {
    type Item = io::Result<(Vec<Document>, Vec<Finding>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self
            .reader
            .as_mut()?
            .next_chunk(vec![], self.lines)
            .and_then(|chunk| {
                chunk
                    .map(String::from_utf8)
                    .transpose()
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            });
        let text = match text {
            Ok(text) => text?,
            Err(error) => {
                self.reader = None;
                return Some(Err(error));
            }
        };
        let text = text.as_str();
        let first_line = self.lines + 1;
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let source = (first_line, text);
        let mut documents = DocumentReader::new(source, self.schema, &mut self.in_conflict);
        let read = split(first_line, text)
            .map(|raw| documents.read(&raw))
            .collect();
        Some(Ok((read, documents.findings)))
    }
}
