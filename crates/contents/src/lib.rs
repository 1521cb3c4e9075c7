#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bounds;
mod comparison;
mod members;
mod names;
mod packing;
mod refusal;
mod scan;
mod sink;
mod tar;
mod zip;
mod zstd;

pub use bounds::Bounds;
pub use comparison::{Change, Comparison, Difference, compare};
pub use refusal::Refusal;
pub use scan::texts;
