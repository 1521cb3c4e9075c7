//! Git: what is staged, staged files rewritten, hooks installed.
//!
//! Nothing else in the program runs or links git, and nothing here knows what
//! a domain file says: [`pre_commit()`] hands the staged bytes to a judge.
//!
//! Reading goes through libgit2, which costs no process. Whatever libgit2
//! refuses (SHA-256, reftable, split and sparse indexes, an environment that
//! redirects more than the index) is asked of the `git` executable instead;
//! only when that fails too is it an error. Writing the index is always
//! git's own work, since only git knows every index format.
//!
//! - [`env`](mod@env): the variables by which git tells a hook where it is.
//! - `command`: running the executable; `paths`: as git and as people write
//!   them.
//! - [`repository`]: where everything stands; blobs.
//! - [`staged`]: what the next commit would change.
//! - [`restage`]: putting other bytes in its place.
//! - [`pre_commit`](mod@pre_commit): the hook itself.
//! - [`install`]: putting the hook's shim where git looks for it.

mod command;
pub mod env;
pub mod install;
mod paths;
pub mod pre_commit;
pub mod repository;
pub mod restage;
pub mod staged;

pub use command::command;
pub use env::GitEnv;
pub use install::{Hook, Installed};
pub use pre_commit::{Judged, Message, PreCommitOutcome, pre_commit};
pub use repository::Repository;
pub use restage::{Restaged, WorkTree};
pub use staged::{Kind, Staged};
