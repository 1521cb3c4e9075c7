//! Remarks about URLs whose promise holds.

/// A remark about a URL whose promise holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Warning {
    /// One of three fetches has other bytes than the other two.
    ContentUnstable,
    /// The server added a content coding; the decoded bytes are right.
    ContentEncoded,
    /// The bytes are right, but the connection ended before the response's framing said so.
    FramingBroken,
    /// The promised redirect leads to an error.
    RedirectToBroken,
    /// The server's certificate expires soon.
    CertificateExpiresSoon,
    /// The URL fails often, but never in two runs in a row.
    Intermittent,
    /// The page names no canonical URL.
    CanonicalMissing,
    /// The page names another canonical URL than its official one.
    CanonicalDiffers,
}

impl Warning {
    /// Every warning.
    pub const ALL: [Self; 8] = [
        Self::ContentUnstable,
        Self::ContentEncoded,
        Self::FramingBroken,
        Self::RedirectToBroken,
        Self::CertificateExpiresSoon,
        Self::Intermittent,
        Self::CanonicalMissing,
        Self::CanonicalDiffers,
    ];

    /// The stable kebab-case code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContentUnstable => "content-unstable",
            Self::ContentEncoded => "content-encoded",
            Self::FramingBroken => "framing-broken",
            Self::RedirectToBroken => "redirect-to-broken",
            Self::CertificateExpiresSoon => "certificate-expires-soon",
            Self::Intermittent => "intermittent",
            Self::CanonicalMissing => "canonical-missing",
            Self::CanonicalDiffers => "canonical-differs",
        }
    }

    /// One sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::ContentUnstable => "one of three fetches brought other bytes than promised",
            Self::ContentEncoded => {
                "the server compresses what nobody asked it to; undone, the bytes are as promised"
            }
            Self::FramingBroken => {
                "the bytes are as promised, but the server does not end them properly"
            }
            Self::RedirectToBroken => "it redirects as it may, but to something that is broken",
            Self::CertificateExpiresSoon => "the server's certificate expires soon",
            Self::Intermittent => "it fails often",
            Self::CanonicalMissing => "the page names no canonical URL",
            Self::CanonicalDiffers => "the page names another canonical URL than its official one",
        }
    }
}
