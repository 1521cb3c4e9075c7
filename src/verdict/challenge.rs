//! Answers that are meant for robots: they say nothing about the content.

use crate::fetch::Hop;

/// Headers by which services mark a challenge, whatever its status.
/// The value is what the header's value begins with.
const MARKS: [(&str, &str, &str); 4] = [
    ("cf-mitigated", "challenge", "a Cloudflare challenge"),
    ("x-amzn-waf-action", "challenge", "an AWS WAF challenge"),
    ("x-amzn-waf-action", "captcha", "an AWS WAF captcha"),
    ("sg-captcha", "challenge", "a SiteGround captcha"),
];

/// Which challenge this response is, if it is one.
pub(super) fn recognize(hop: &Hop) -> Option<&'static str> {
    MARKS.iter().find_map(|(name, value, what)| {
        let seen = hop.header(name)?.trim().to_ascii_lowercase();
        seen.starts_with(value).then_some(*what)
    })
}
