//! What the fuzz targets of lists share.

use urldb_format::{Algorithm, Value};
use urldb_interchange::{ReadError, ReadEvent, Sink, digest};

/// Reads a list, and checks that the text at each span is the value of the item.
pub fn check(bytes: &[u8], read: impl FnOnce(&mut Sink<'_>) -> Result<(), ReadError>) {
    let _ = read(&mut |event| {
        let ReadEvent::Item(item) = event else {
            return Ok(());
        };
        let mapping = item.record.to_mapping();
        for span in &item.spans {
            let range = span.range.start as usize..span.range.end as usize;
            let text = std::str::from_utf8(&bytes[range]).expect("text");
            let value = match Algorithm::of_key(span.key) {
                Some(algorithm) => Value::from(
                    digest::parse(text, Some(algorithm))
                        .expect("a digest")
                        .hex(),
                ),
                None if matches!(span.key, "content-length" | "status") => {
                    Value::Int(text.parse().expect("a number"))
                }
                None => Value::from(text),
            };
            assert_eq!(mapping.get(span.key), Some(&value));
        }
        Ok(())
    });
}
