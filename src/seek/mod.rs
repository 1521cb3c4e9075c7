//! Asks for promised bytes wherever they may still be: under their URLs, and in places that urldb.toml names. Only
//! `urldb get` does that.

mod asker;
mod source;

pub use asker::{Answer, Asker};
pub use source::{Source, SourceKind, sources_of};
