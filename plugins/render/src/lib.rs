//! Turns a report into text and HTML through templates: the one place that the
//! email and HTML notifiers share.
//!
//! A [`View`] is the envelope together with the lists that people want to read;
//! a [`Renderer`] puts it into minijinja templates, which users may override.
//! Everything in a view has been made harmless first: one line of bounded
//! length, without control characters. HTML templates escape on top of that.
#![forbid(unsafe_code)]

mod filters;
mod renderer;
mod text;
mod view;
mod words;

pub use renderer::{Error, Renderer};
pub use text::{one_line, shorten};
pub use view::{Group, Part, Row, Totals, View};
