//! Control characters, which no reader takes as a part of a text.

/// A control character that no text has: any of C0 but a tab and a line break, which is LF or CRLF, and DEL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ControlCharacter {
    /// The line in the file, from 1.
    pub(crate) line: u64,
    byte: u8,
}

impl ControlCharacter {
    pub(crate) fn message(self) -> &'static str {
        match self.byte {
            0 => {
                "there is a NUL character: remove it; names that end with NUL, as `sha256sum -z` writes them, are not read"
            }
            b'\r' => {
                "there is a carriage return that is no part of a line break: save the file with LF or CRLF"
            }
            _ => "there is a control character (below U+0020, or U+007F): remove it",
        }
    }
}

/// The first control character that no text has.
pub(crate) fn control_in(text: &[u8]) -> Option<ControlCharacter> {
    let mut line = 1;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => line += 1,
            b'\r' if text.get(at + 1) == Some(&b'\n') => {}
            b'\t' | b' '..=b'~' | 0x80.. => {}
            control => {
                let byte = *control;
                return Some(ControlCharacter { line, byte });
            }
        }
    }
    None
}
