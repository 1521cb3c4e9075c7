//! The email notifier, from the report to the delivered message.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod common; // the templates and the example report of urldb
mod message; // the text of messages, and what a message must never contain
mod mime; // parses a message
mod sendmail; // programs that hang, and programs that go on in the background
mod server; // a mail server with scripted replies
mod smtp; // replies of mail servers, and the resulting delivery reports
