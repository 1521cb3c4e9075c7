//! The `urldb` command.
#![forbid(unsafe_code)]
fn main() {}
