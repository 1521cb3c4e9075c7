//! Arguments that several commands share.

mod changed;
mod commit;
mod context;
mod leftovers;
mod place;
mod request;
mod search;
mod select;

pub(crate) use changed::{ChangedArgs, changed_settings, domain_file_name};
pub(crate) use commit::{ChangedUrls, CommitArgs, PlannedRunCommit};
pub use context::{Context, GlobalArgs};
pub(crate) use context::{MapArgs, TrustArgs};
pub(crate) use leftovers::{Leftovers, UncommittedRecord};
pub(crate) use place::Place;
pub(crate) use request::{RecordArgs, RequestArgs};
pub(crate) use search::{Rank, SearchArgs};
pub(crate) use select::{SelectArgs, TargetArgs, find_records, resolve_domains};
