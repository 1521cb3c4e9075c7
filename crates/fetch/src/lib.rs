//! Makes HTTP requests for jobs and reports what servers answered, as plain data. The only code that
//! contacts promised URLs.
//!
//! [`Fetcher::fetch_sources`] takes jobs as the queues of their hosts get short, fetches each job
//! until the caller's decision, and returns each as a [`JudgedJob`](urldb_verdict::JudgedJob).
//!
//! | module | topic |
//! |---|---|
//! | `fetcher` | the blocking entry point and the async runtime |
//! | `driver` | all jobs of one run: start, redirect, retry, give up |
//! | `sources` | sources of jobs, and when more are read |
//! | `pending`, `request` | a job that is not finished, and the rule that decides about it; its next request |
//! | `queue` | which host's job starts next, within the pace of the host |
//! | `pace`, `second_pass` | the pace of a host that refuses requests; its second pass |
//! | `aside`, `turns` | the jobs that hosts refused, in a temporary file; their next requests |
//! | `slots` | how many requests run at once |
//! | `unresponsive` | hosts that do not answer, and when to stop asking them |
//! | `limited` | hosts that refuse requests for too long |
//! | `limits`, `stop` | when a run ends before its jobs do |
//! | `chain` | one fetch: a request and its redirects |
//! | `exchange` | one request and its response |
//! | `hosts`, `client` | settings and HTTP clients for each host; mappings, proxy |
//! | `connection`, `tunnel` | one connection, over TLS or not; the tunnel through a proxy |
//! | `hello` | the algorithm of TLS that a server needs and the library lacks |
//! | `response` | one response, and its body in pieces |
//! | `resolve`, `policy` | names to addresses; which addresses may be contacted |
//! | `headers`, `redirect` | what a request sends; where a redirect leads |
//! | `body`, `decode` | length, digest, prefix and content coding of a response body |
//! | `conversion` | whether a body is the promised content in another form |
//! | `certificate`, `failure` | what a certificate says; which failure an error means |
//! | `options`, `proxy` | types of the public API |
//!
//! Seven modules are pure, without network and clock: `policy`, `redirect`, `headers`, `sources`,
//! `queue`, `pace` and `unresponsive`; callers pass the time.
//!
//! No type of the HTTP library (`hyper`) is part of the public API.
//!
//! Async stays inside the crate. One thread runs all connections. Finished jobs reach the caller's
//! thread through a bounded channel, so slow archiving slows down fetching and memory stays bounded.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod aside;
mod body;
mod certificate;
mod chain;
mod client;
mod connection;
mod conversion;
mod decode;
mod driver;
mod exchange;
mod failure;
mod fetcher;
mod hasher;
mod headers;
mod hello;
mod hosts;
mod limited;
mod limits;
mod open_files;
mod options;
mod pace;
mod pending;
mod policy;
mod proxy;
mod proxy_error;
mod queue;
mod redirect;
mod request;
mod resolve;
mod response;
mod second_pass;
mod setting;
mod slots;
mod sources;
mod stop;
mod tunnel;
mod turns;
mod unresponsive;

pub use client::LARGEST_CA_FILE;
pub use decode::gunzip;
pub use fetcher::Fetcher;
pub use hasher::DigestHasher;
pub use headers::{REDACTED, header_values};
pub use options::{FetchOptions, HeaderSource, HostOptions, NetworkOptions, PromisedTargets};
pub use policy::{AddressPolicy, ForbiddenAddress};
pub use proxy::{Mapping, Proxy, ProxyAddress};
pub use resolve::{Lookup, SystemLookup};
pub use setting::{SettingError, SettingSection, SetupError};
pub use stop::Stop;
