//! The git hook in real, temporary repositories.
//!
//! - `commit`: `git commit` itself runs the hook, in all its ways.
//! - `staged`: what is judged, whatever backend answers; odd names and entries.
//! - `install`: where the shim goes, and whom it leaves alone.
//! - `paths`: where the repository is, from wherever one looks.
//! - `sandbox`: the repositories, and the judge.
#![cfg(unix)]

mod commit;
mod install;
mod paths;
mod sandbox;
mod staged;
