//! The sizes up to which the root package reads files. Those of domain files are in `urldb_format`, and that
//! of a `ca-file` is in `urldb_fetch`.

use urldb_files::Limit;

/// urldb.toml, and the settings of other programs: workflows, crontabs, pre-commit.
pub(crate) const SETTINGS: Limit = Limit::mib(1);

/// A template of a user.
pub(crate) const TEMPLATE: Limit = Limit::mib(1);

/// A git hook, and a file that git keeps for itself.
pub(crate) const GIT_FILE: Limit = Limit::mib(64);

/// The files of the merge driver together.
pub(crate) const MERGE: Limit = Limit::mib(256);

/// A domain file, as bytes that are only compared or kept.
pub(crate) const DOMAIN_FILE: Limit = urldb_format::LARGEST_FILE;

/// A file of site rules.
pub(crate) const SITE_RULES: Limit = Limit::kib(64);

/// A file of the ledger.
pub(crate) const LEDGER: Limit = Limit::mib(1 << 10);

/// An incident. A million affected URLs take 150 MB.
pub(crate) const INCIDENT: Limit = Limit::mib(256);

/// A message in the outbox, which holds its whole report.
pub(crate) const MESSAGE: Limit = Limit::mib(1);

/// The manifest of a bundle.
pub(crate) const BUNDLE_MANIFEST: Limit = Limit::mib(16);

/// A line of a bundle: a few responses, each with at most some 100 KiB of headers and as much of a page.
pub(crate) const BUNDLE_LINE: Limit = Limit::mib(64);

/// The checks of the places of an archive: three lists of at most 100 names for each place.
pub(crate) const PLACE_CHECKS: Limit = Limit::mib(4);

/// The manifest of a store, as the archive keeps it, and the names of objects that do not count yet.
pub(crate) const STORE_MANIFEST: Limit = Limit::mib(16);
