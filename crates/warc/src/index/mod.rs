//! The index of an archive: CDXJ lines, sorted as bytes (`LC_ALL=C sort`), in compressed segments.
//!
//! Several processes may write archive files at once. Each writes files of its own, and adds their lines
//! as a segment of its own. A segment never changes. Lookups merge the answers of all segments. When
//! there are many segments, an update merges the small ones, so their number stays small and each line
//! is written a few times only.
//!
//! | lock | held |
//! |---|---|
//! | of the archive's directory | while a segment is added, and while one replaces others |
//! | of the index's directory | while segments are merged or the index is rebuilt |

mod complete;
mod cursor;
mod error;
mod lines;
mod lookup;
mod merge;
mod scan;
mod segment;
mod segment_cursor;
mod segment_draft;
mod sorter;
mod update;
mod zipnum;

pub use self::complete::{
    IndexRebuild, complete_index, indexed_files, rebuild_index, rebuild_index_from, unindexed_files,
};
pub(crate) use self::cursor::{LineCursor, MergedLines, SeekCursor};
pub use self::error::{IndexError, LeftOutCause, LeftOutRecords};
pub use self::lookup::{CdxjIndex, CdxjLines};
pub use self::merge::merge_index;
pub(crate) use self::merge::{forget_file, forget_files};
pub use self::segment::files_of_segment;
pub(crate) use self::segment_cursor::cursors as segment_cursors;
pub(crate) use self::update::index_joined_file;
pub use self::update::{IndexUpdate, add_segment_files, index_lines_of, merge_into_index};
pub use self::zipnum::{IdxDialect, ZipNumWriter};
pub use crate::files::names::{INDEX_DIRECTORY, LARGEST_LIST};
