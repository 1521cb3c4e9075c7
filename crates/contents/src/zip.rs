//! Members of a zip archive.
//!
//! Programs disagree about zip files whose parts contradict each other: some read the directory at the end, others the
//! header before each member. Such archives are refused.

use std::io::{BufReader, Read, Seek};

use flate2::bufread::DeflateDecoder;
use rawzip::extra_fields::ExtraFieldId;
use rawzip::{
    CompressionMethod, CreatorSystem, RECOMMENDED_BUFFER_SIZE, RangeReader, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};

use crate::bounds::{BoundedReader, Bounds};
use crate::members::{Content, Member, MemberKind, MemberList, Name};
use crate::names;
use crate::refusal::Refusal;
use crate::sink::{FileSink, Wanted};

/// Extra fields without effect on names, types, modes, links and bytes: sizes, times, owners, and marks of programs.
const IGNORED: [ExtraFieldId; 8] = [
    ExtraFieldId::ZIP64,
    ExtraFieldId::NTFS,
    ExtraFieldId::EXTENDED_TIMESTAMP,
    ExtraFieldId::INFO_ZIP_UNIX_ORIGINAL,
    ExtraFieldId::INFO_ZIP_UNIX,
    ExtraFieldId::INFO_ZIP_UNIX_UID_GID,
    ExtraFieldId::JAVA_JAR,
    ExtraFieldId::ANDROID_ZIP_ALIGNMENT,
];

/// Most bytes of the name and the extra fields of a member: two lengths of 16 bits.
const LONGEST_HEADER: usize = 2 << 16;

/// Most bytes between two members: the sizes of the first one.
const LONGEST_GAP: u64 = 24;

/// The newest version of the format, 6.3.
const NEWEST_VERSION: u8 = 63;

/// Bytes of the record at the end of an archive, and of the records before it in a large one.
const END: usize = 22;
const LARGE_END: u64 = 56 + 20;

/// The flags that are known: how well it is compressed (1, 2), sizes after the member (3), UTF-8 (11).
const KNOWN_FLAGS: u16 = 0b1000_0000_1110;
const UTF_8: u16 = 1 << 11;

const TYPE: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;

/// Whether a content with these first bytes is a zip archive.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04")
}

/// A member as the directory has it.
struct Entry {
    name: Vec<u8>,
    flags: u16,
    method: CompressionMethod,
    packed: u64,
    size: u64,
    crc32: u32,
    /// The type and the permissions, if the archive has them.
    mode: Option<u32>,
    way: ZipArchiveEntryWayfinder,
}

/// Reads a zip archive. `most`: unpacked bytes of all members together.
pub(crate) fn members<R: Read + Seek>(
    input: &mut R,
    most: u64,
    bounds: Bounds,
    wanted: &mut Wanted,
) -> Result<Content, Refusal> {
    let end = input.seek(std::io::SeekFrom::End(0))?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE.max(LONGEST_HEADER)];
    let archive = ZipArchive::from_seekable(input, &mut buffer)?;
    if archive.end_offset() != end {
        return Err(Refusal::Ambiguous("bytes after the zip archive"));
    }
    check_end(&archive)?;
    let mut list = MemberList::new(bounds);
    let mut ranges = vec![];
    let mut left = most;
    // The iterator keeps its buffer, and the header of a member needs another one.
    let mut local = vec![0; LONGEST_HEADER];
    let mut entries = archive.entries(&mut buffer);
    while let Some(record) = entries.next_entry()? {
        if ranges.len() == bounds.members {
            return Err(Refusal::TooLarge("members"));
        }
        let entry = Entry::of(&record)?;
        let start = record.local_header_offset();
        // The version that a program must have to unpack the member.
        let versions = [
            start.saturating_add(4),
            record.central_directory_offset() + 6,
        ];
        for place in versions {
            if byte_at(&archive, place)? > NEWEST_VERSION {
                return Err(Refusal::Unsupported("a version of zip"));
            }
        }
        ranges.push((start, check_header(&archive, &entry, &mut local)?));
        member(&archive, &entry, &mut left, &mut list, wanted)?;
    }
    if ranges.len() as u64 != archive.entries_hint() {
        return Err(Refusal::Damaged("the number of members"));
    }
    ranges.push((archive.directory_offset(), end));
    ranges.sort_unstable();
    let are_adjacent = |two: &[(u64, u64)]| {
        let gap = two[1].0.checked_sub(two[0].1);
        gap.is_some_and(|gap| gap <= LONGEST_GAP)
    };
    if ranges[0].0 != 0 || !ranges.windows(2).all(are_adjacent) {
        return Err(Refusal::Ambiguous(
            "members that overlap, or bytes between them",
        ));
    }
    list.finish().map(Content::Archive)
}

impl Entry {
    fn of(record: &ZipFileHeaderRecord<'_>) -> Result<Self, Refusal> {
        let flags = record.flags().bits();
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Refusal::Unsupported("a flag of a zip member"));
        }
        let mut fields = record.extra_fields();
        if fields.any(|(id, _)| !IGNORED.contains(&id)) {
            return Err(Refusal::Unsupported("an extra field of a zip member"));
        }
        let name = record.file_path().as_bytes().to_vec();
        if (!name.is_ascii() && flags & UTF_8 == 0) || name.contains(&b'\\') || name.contains(&0) {
            return Err(Refusal::Ambiguous("the name of a zip member"));
        }
        let system = record.version_made_by().creator_system();
        let is_unix = matches!(system, CreatorSystem::UNIX | CreatorSystem::MACOS);
        let mode = record.external_attributes() >> 16;
        Ok(Self {
            name,
            flags,
            method: record.compression_method(),
            packed: record.compressed_size_hint(),
            size: record.uncompressed_size_hint(),
            crc32: record.crc32(),
            mode: (is_unix && mode != 0).then_some(mode),
            way: record.wayfinder(),
        })
    }

    fn is_folder(&self) -> bool {
        self.name.ends_with(b"/")
    }
}

/// Checks the record at the end: one disk, and the size of the directory. Large archives have another record before it,
/// and a mark in place of each number.
fn check_end<R: ReaderAt>(archive: &ZipArchive<R>) -> Result<(), Refusal> {
    let end = archive.eocd_offset();
    let mut record = [0; END];
    RangeReader::new(archive.get_ref(), end..end + END as u64).read_exact(&mut record)?;
    let disks = &record[4..8];
    let own_members = &record[8..10];
    let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| record[at + byte]));
    let (size, start) = (number(12), number(16));
    let directory_end = archive.directory_offset() + u64::from(size);
    let is_large = size == u32::MAX || directory_end + LARGE_END == end;
    if disks != [0; 4]
        || own_members != &record[10..12]
        || (directory_end != end && !is_large)
        || (u64::from(start) != archive.directory_offset() && start != u32::MAX)
    {
        return Err(Refusal::Damaged("the record at the end of a zip archive"));
    }
    Ok(())
}

fn byte_at<R: ReaderAt>(archive: &ZipArchive<R>, place: u64) -> Result<u8, Refusal> {
    let mut byte = [0];
    let end = place.saturating_add(1);
    RangeReader::new(archive.get_ref(), place..end).read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Compares the header before a member with the directory. Returns the end of the member's bytes.
fn check_header<R: ReaderAt>(
    archive: &ZipArchive<R>,
    entry: &Entry,
    buffer: &mut [u8],
) -> Result<u64, Refusal> {
    let place = archive.get_entry(entry.way)?;
    let header = place.local_header(buffer)?;
    let has_sizes_after = header.flags().has_data_descriptor();
    // Sizes that follow the member are 0 before it.
    let fits = |own: u64, stated: u64| own == stated || (has_sizes_after && own == 0);
    if header.file_path().as_bytes() != entry.name
        || header.flags().bits() != entry.flags
        || header.compression_method() != entry.method
        || !fits(header.crc32().into(), entry.crc32.into())
        || !fits(header.compressed_size_hint(), entry.packed)
        || !fits(header.uncompressed_size_hint(), entry.size)
    {
        return Err(Refusal::Ambiguous(
            "two headers of a zip member that differ",
        ));
    }
    let mut fields = header.extra_fields();
    if fields.any(|(id, _)| !IGNORED.contains(&id)) {
        return Err(Refusal::Unsupported("an extra field of a zip member"));
    }
    Ok(place.compressed_data_range().1)
}

fn member<R: ReaderAt>(
    archive: &ZipArchive<R>,
    entry: &Entry,
    left: &mut u64,
    list: &mut MemberList,
    wanted: &mut Wanted,
) -> Result<(), Refusal> {
    let name = names::normalized(&entry.name)?;
    let own_type = entry.mode.map_or(0, |mode| mode & TYPE);
    let (kind, mode) = match own_type {
        0 | FOLDER if entry.is_folder() => {
            if entry.size != 0 {
                return Err(Refusal::Ambiguous("a folder with bytes"));
            }
            (MemberKind::Folder, entry.mode)
        }
        _ if entry.is_folder() => {
            return Err(Refusal::Ambiguous("the name of a folder for another type"));
        }
        0 | FILE => (file(archive, entry, &name, left, wanted)?, entry.mode),
        SYMLINK if entry.size <= names::LONGEST as u64 => {
            let mut target = vec![];
            unpack(archive, entry, left, |input| {
                input.read_to_end(&mut target)?;
                Ok(())
            })?;
            if target.is_empty() {
                return Err(Refusal::Damaged("a link without a target"));
            }
            (MemberKind::Symlink(target.into()), None)
        }
        _ => return Err(Refusal::Unsupported("a type of member")),
    };
    let mode = mode.map(|mode| mode & 0o7777);
    list.add(name, Member { kind, mode })
}

fn file<R: ReaderAt>(
    archive: &ZipArchive<R>,
    entry: &Entry,
    name: &Name,
    left: &mut u64,
    wanted: &mut Wanted,
) -> Result<MemberKind, Refusal> {
    let mut sink = FileSink::new(wanted, name, Some(entry.size));
    unpack(archive, entry, left, |mut input| Ok(sink.copy(&mut input)?))?;
    let (size, sha256) = sink.finish();
    Ok(MemberKind::File {
        size,
        sha256,
        links: None,
    })
}

/// Unpacks the bytes of a member, and checks their number and checksum.
fn unpack<R: ReaderAt>(
    archive: &ZipArchive<R>,
    entry: &Entry,
    left: &mut u64,
    take: impl FnOnce(&mut dyn Read) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let place = archive.get_entry(entry.way)?;
    let packed = BufReader::with_capacity(32 << 10, place.reader());
    match entry.method {
        CompressionMethod::STORE if entry.packed == entry.size => {
            let mut input = BoundedReader::new(place.verifying_reader(packed), *left);
            take(&mut input)?;
            *left = input.left();
        }
        CompressionMethod::DEFLATE => {
            let mut inflated = DeflateDecoder::new(packed);
            let mut input = BoundedReader::new(place.verifying_reader(&mut inflated), *left);
            take(&mut input)?;
            *left = input.left();
            if inflated.total_in() != entry.packed {
                return Err(Refusal::Damaged("bytes after a zip member"));
            }
        }
        _ => return Err(Refusal::Unsupported("the compression of a zip member")),
    }
    Ok(())
}
