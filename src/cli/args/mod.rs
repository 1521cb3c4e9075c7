//! Arguments that several commands share.

mod changed;
mod commit;
mod context;
mod incident;
mod request;
mod restored;
mod search;
mod select;
mod url_or_host;

pub(crate) use changed::{ChangedArgs, ChangedFindings, changed_settings, domain_file_name};
pub(crate) use commit::{ChangedUrls, CommitArgs, PlannedCommit, WriteArgs};
pub(in crate::cli) use commit::{report, say_interrupted};
pub use context::{Context, GlobalArgs};
pub(crate) use context::{MapArgs, TrustArgs};
pub(crate) use incident::open_incident;
pub(crate) use request::{AnsweredArgs, RecordArgs};
pub(crate) use search::{Rank, SearchArgs};
pub(crate) use select::{
    SelectArgs, TargetArgs, find_known, find_records, find_records_for_edit, named_records,
    present_hosts, resolve_domains, similar_host,
};
pub(crate) use url_or_host::UrlOrHost;
