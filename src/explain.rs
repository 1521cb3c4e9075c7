//! An error and its causes, as one line for people.

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
    text
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
