//! Limits for bodies, so that time and memory grow at most linearly with the length of a body.

/// JSON values in a body.
pub(super) const MAX_VALUES: usize = 100_000;
/// Levels of nested lists and objects in JSON.
pub(super) const MAX_JSON_DEPTH: usize = 200;
/// Levels of multiparts inside each other: each level reads its part of the body once more.
pub(super) const MAX_MULTIPART_DEPTH: usize = 10;
/// Bytes of the query that a JSON body becomes: a long name that is repeated would multiply the body.
pub(super) const MAX_QUERY: usize = 1 << 20;
/// Characters of the parameters that pywb keeps.
pub(super) const PRACTICAL_LENGTH: usize = 4096;
