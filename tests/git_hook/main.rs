//! The git hook in real, temporary repositories.
//!
//! - `commit`: `git commit` itself runs the hook, in all its ways.
//! - `staged`: which files are checked, with libgit2 and with git; odd names and entries.
//! - `install`: where the shim goes, and whom it leaves alone.
//! - `paths`: where the repository is, from wherever one looks.
//! - `sandbox`: the repositories, and the check.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod commit;
mod install;
mod paths;
mod sandbox;
mod staged;
