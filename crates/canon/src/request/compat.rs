//! The readings of the specification.

/// The program, or the text, whose reading of the specification is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// The text of the specification. Where the text leaves a choice, the reading that keeps
    /// different requests apart.
    #[default]
    Spec,
    /// pywb 2.10, which looks requests up in archives.
    Pywb,
}
