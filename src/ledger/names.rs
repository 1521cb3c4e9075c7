//! The names of files that are beside the one with the statuses of a domain.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Most bytes of a domain in a file name, whose length file systems limit.
const LONGEST: usize = 200;

/// The name of the file of a domain that is beside the one with the statuses.
pub(super) fn name_of(domain: &str) -> String {
    let digest = HEXLOWER.encode(&Sha256::digest(domain)[..4]);
    let end = domain.floor_char_boundary(LONGEST);
    format!("{}-{digest}.yaml", &domain[..end])
}
