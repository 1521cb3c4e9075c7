//! The promise of a record.

/// The promise of a record about the response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// Length of the body in bytes.
    pub length: Option<u64>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Media type of the last response.
    pub content_type: Option<String>,
    /// Status that the pseudo type `X-NNN-Redirect` names.
    pub redirect_status: Option<u16>,
    /// Status of the last response.
    pub status: Option<u16>,
    /// The target of the redirect that the first response must be, as an absolute URL.
    pub redirects_to: Option<String>,
    /// The official URL that an HTML page must name as canonical, where that is checked.
    pub canonical: Option<Box<str>>,
    /// Category `redirect-ok`.
    pub redirect_ok: bool,
    /// Category `content-type-change-ok`.
    pub content_type_change_ok: bool,
}

impl Promise {
    /// Whether the record promises bytes.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.sha256.is_some()
    }
}
