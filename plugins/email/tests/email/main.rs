//! The email notifier, from a report to what arrives.

mod common; // the templates and the report that urldb ships
mod message; // what people get to read, and what must never get into a message
mod mime; // takes a message apart
mod server; // a mail server that answers what it is told to
mod smtp; // what mail servers answer, and what becomes of it
