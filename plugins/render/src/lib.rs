//! Renders a report as text and HTML. The email and HTML notifiers share this crate.
//!
//! A [`View`] is the envelope and the lists of URLs made from it. A [`Renderer`] renders the view
//! with minijinja templates, which users may override. Every text in a view is sanitized: one line
//! of bounded length, without control characters. HTML templates also escape every value.
#![forbid(unsafe_code)]

mod filters;
mod renderer;
mod text;
mod view;
mod words;

pub use renderer::{Error, Renderer};
pub use text::{one_line, shorten};
pub use view::{MistakeList, UrlCounts, UrlGroup, UrlList, UrlRow, View};
