//! Git: lists staged, unmerged and changed files, replaces their bytes, commits files, and installs hooks
//! and the merge driver.
//!
//! Only this module runs or links git. It knows nothing of domain files: the caller of
//! [`pre_commit()`] chooses the files to check, and checks their bytes.
//!
//! Folders, commits and blobs are read by libgit2, which needs no process. The `git` executable answers where
//! libgit2 cannot: SHA-256, reftable, and an environment that redirects more than the index. Only the
//! executable reads and writes staged files, since only git knows every format of the index.
//!
//! - [`env`](mod@env): the variables by which git tells a hook where it is.
//! - `command`: runs the executable; `paths`: paths for git and for people.
//! - `location`: finds a repository by a folder and variables, and drops variables of another one.
//! - [`repository`]: the folders of a repository, and its blobs.
//! - [`staged`]: the files that the next commit would change.
//! - [`changed`]: the files that differ between two states.
//! - [`commit`]: commits single files, as a user would.
//! - [`restage`]: replaces staged bytes.
//! - [`pre_commit`](mod@pre_commit): the hook itself.
//! - [`inspection`]: tracked and ignored files, and the locks of git.
//! - [`hook`]: the hooks, and the text of their shim; `hook_files`: their files.
//! - [`install`]: installs and removes the shim, and tells its state.
//! - [`log`]: the commits that changed files.
//! - [`ancestors`]: the common ancestors of two sides, and the bases of unmerged files.
//! - [`unmerged`]: the versions of files with a conflict, and how they are resolved.
//! - [`operation`]: the merge, rebase or the like that git is in the middle of.
//! - [`managers`]: other programs that manage hooks.
//! - [`patterns`]: the lines of `.gitattributes` and `.gitignore`.
//! - [`merge_driver`]: `.gitattributes` and git's configuration for the merge driver.

pub mod ancestors;
pub mod changed;
mod command;
pub mod commit;
pub mod env;
pub mod hook;
mod hook_files;
pub mod inspection;
pub mod install;
mod location;
pub mod log;
pub mod managers;
pub mod merge_driver;
pub mod operation;
mod paths;
pub mod patterns;
pub mod pre_commit;
pub mod push;
mod raw_changes;
pub mod repository;
pub mod restage;
pub mod staged;
pub mod tree_merge;
mod trees;
pub mod unmerged;

pub use ancestors::{Ancestor, Base};
pub use changed::{ChangedFile, Commit, Comparison, FileVersion, Snapshot};
pub use command::command;
pub use commit::{NewCommit, UncommittedFiles};
pub use env::GitEnv;
pub use hook::Hook;
pub use inspection::{GitLock, version};
pub use install::{HookState, Installation};
pub use managers::HookManager;
pub use merge_driver::{MARKER_SIZE, MergeAttributes, MergeDriverState};
pub use patterns::{add_lines, attribute_line, ignore_line};
pub use pre_commit::{
    CheckedFolder, FileCheck, PreCommitOutcome, RejectedFile, pre_commit, staged_files,
};
pub use push::Upstream;
pub use repository::Repository;
pub use restage::{RestagedFile, WorkTreeUpdate};
pub use staged::{EntryKind, StagedFile};
pub use tree_merge::FileVersions;
pub use unmerged::{Resolution, Stage, TextMerge, TextStyle, UnmergedFile, text_merge};
