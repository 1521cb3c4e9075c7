//! An error and its causes, as one line for people.

use std::error::Error;
use std::io;

/// Joins the error and its causes. A library's message often ends with its
/// cause already: such a cause is not repeated.
pub(crate) fn explain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    if error.chain().any(is_file_limit) && !text.contains("ulimit") {
        text.push_str("; raise the limit of open files of this process (ulimit -n)");
    }
    text
}

/// Whether the system refused to open one more file: ENFILE and EMFILE.
fn is_file_limit(cause: &(dyn Error + 'static)) -> bool {
    let cause = cause.downcast_ref::<io::Error>();
    cfg!(unix) && matches!(cause.and_then(io::Error::raw_os_error), Some(23 | 24))
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    #[test]
    fn a_cause_is_named_once() {
        let error = Err::<(), _>(anyhow!("disk full"))
            .context("cannot write x: disk full")
            .context("no archive");
        assert_eq!(
            super::explain(&error.unwrap_err()),
            "no archive: cannot write x: disk full"
        );
    }
}
