//! The `urldb` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    urldb::cli::main()
}
