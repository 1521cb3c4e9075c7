//! Bundles: the files that a shard of a run hands to the collecting run.
//!
//! A bundle is the folder `SHARD-of-COUNT/ATTEMPT` below the folder of the run:
//!
//! | file | content |
//! |---|---|
//! | `observations.jsonl` | a [`BundleLine`] for each job, in any order |
//! | `urldb-….warc.gz` | the WARC files of the shard, under their final names |
//! | `manifest.json` | the [`Manifest`], written last: a folder without it is no bundle |
//!
//! A bundle is input from outside: reading it takes bounded memory for each line, and never panics.

mod line;
mod manifest;
mod reading;
mod search;
mod writing;

pub use line::{BundleLine, Captured};
pub use manifest::{BundleFile, Manifest, digest_of_inputs};
pub use reading::{Bundle, Bundles};
pub use search::Expected;
pub use writing::BundleWriter;
