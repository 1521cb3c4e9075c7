//! What must come back.

/// What a record promises of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// Length of the body in bytes.
    pub length: Option<u64>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Media type at the end of the chain.
    pub content_type: Option<String>,
    /// Status that the pseudo type `X-NNN-Redirect` names.
    pub redirect_status: Option<u16>,
    /// Status at the end of the chain.
    pub status: Option<u16>,
    /// Where the first response must redirect to, as an absolute URL.
    pub redirects_to: Option<String>,
    /// The official URL that an HTML page must name, where that is verified.
    pub canonical: Option<String>,
    /// Category `redirect-ok`.
    pub redirect_ok: bool,
    /// Category `content-type-change-ok`.
    pub content_type_change_ok: bool,
}

impl Promise {
    /// Whether bytes are promised, not just an answer.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.sha256.is_some()
    }
}
