//! The archive of a repository: what runs put into it, and what people take out.
//!
//! - [`store`]: keeps what was seen; `answer` makes records of it, `volumes` files of those.
//! - [`bag`]: a folder of files for those who want them back.
//! - [`catalogue`]: which captures there are, by the index.
//! - [`keys`]: where the index has an answer to something else than GET.
//! - [`retrieve`]: the bytes of one, verified, wherever they are kept.
//! - [`date`]: the points in time that people name.

mod answer;
pub mod bag;
pub mod catalogue;
pub mod date;
pub mod keys;
pub mod retrieve;
pub mod store;
mod volumes;

pub use catalogue::{Capture, Catalogue};
pub use date::Moment;
pub use keys::Keys;
pub use retrieve::{Payload, Wanted};
pub use store::{Archive, Archivist};
pub use volumes::describe;
