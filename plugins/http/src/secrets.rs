//! Redacts secrets in texts.

use std::fmt;

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

/// Texts that must appear in no message.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets; empty texts are none. A server may send back a URL with its escapes, or a header
    /// without its first word, so a caller adds those forms too.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        // A secret that contains another one is replaced as a whole.
        secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(secrets)
    }

    /// The text with every secret replaced by `[redacted]`.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        text
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_inside_another_one_leaves_no_rest() {
        let secrets = Secrets::new(["abc".to_owned(), String::new(), "xabcx".to_owned()]);
        assert_eq!(
            secrets.redact("1 xabcx 2 abc 3"),
            "1 [redacted] 2 [redacted] 3"
        );
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }
}
