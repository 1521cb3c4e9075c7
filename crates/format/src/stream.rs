//! Reads the documents of a stream in parts, so that memory does not grow with the stream.

use std::io::{self, Read};

use urldb_text::Finding;

use crate::document::Document;
use crate::parts::{PART_SIZE, PartReader};
use crate::read::DocumentReader;
use crate::split::split;
use crate::value::Schema;

/// The documents of a stream, part by part, each part with its findings. Ends after an error.
#[derive(Debug)]
pub struct DocumentParts<'a, R> {
    /// `None` after an error.
    reader: Option<PartReader<R>>,
    schema: &'a Schema,
    /// The number of lines in the parts before.
    lines: usize,
    in_conflict: bool,
}

/// Reads all documents of `source`, as [`crate::read_documents`] reads those of a text. Their lines are
/// those of the whole stream.
pub fn read_documents_from<R: Read>(source: R, schema: &Schema) -> DocumentParts<'_, R> {
    DocumentParts {
        reader: Some(PartReader::new(source, PART_SIZE)),
        schema,
        lines: 0,
        in_conflict: false,
    }
}

impl<R: Read> Iterator for DocumentParts<'_, R> {
    type Item = io::Result<(Vec<Document>, Vec<Finding>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let text = reader.next_part(self.lines).and_then(|part| {
            let text = part.map(std::str::from_utf8).transpose();
            text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        });
        let text = match text {
            Ok(text) => text?,
            Err(error) => {
                self.reader = None;
                return Some(Err(error));
            }
        };
        let first_line = self.lines + 1;
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let stream = split(first_line, text);
        let source = (first_line, text);
        let mut documents = DocumentReader::new(source, self.schema, &mut self.in_conflict);
        let read = stream.documents.iter().map(|raw| documents.read(raw));
        let read = read.collect();
        Some(Ok((read, documents.findings)))
    }
}
