//! Archives whose comparison could be wrong, and hard links.

use std::io::{Cursor, Write};

use tar::{Builder, EntryType, Header};
use urldb_contents::{Bounds, Comparison, Refusal, compare};

fn compared(old: &[u8], new: &[u8]) -> Result<Comparison, Refusal> {
    let bounds = Bounds {
        ratio: 1 << 20,
        ..Bounds::default()
    };
    compare(&mut Cursor::new(old), &mut Cursor::new(new), bounds)
}

type TestMember<'a> = (EntryType, &'a str, &'a str);

/// Members with their content, or with the target of a link.
fn tar(members: &[TestMember<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(vec![]);
    for (kind, name, text) in members {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(0);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name_literal(text).unwrap();
            header.set_cksum();
            archive.append(&header, &[][..]).unwrap();
        } else {
            header.set_size(text.len() as u64);
            header.set_cksum();
            archive.append(&header, text.as_bytes()).unwrap();
        }
    }
    archive.into_inner().unwrap()
}

fn refusal(archive: &[u8]) -> String {
    compared(archive, archive).unwrap_err().to_string()
}

const FILE: EntryType = EntryType::Regular;
const LINK: EntryType = EntryType::Link;
const SYMLINK: EntryType = EntryType::Symlink;
const FOLDER: EntryType = EntryType::Directory;

fn same(files: u64) -> Comparison {
    Comparison::Archive {
        files,
        differences: vec![],
    }
}

fn names(comparison: Result<Comparison, Refusal>) -> Vec<String> {
    let Ok(Comparison::Archive { differences, .. }) = comparison else {
        panic!("{comparison:?}");
    };
    let names = differences.into_iter();
    names
        .map(|it| String::from_utf8(it.name).unwrap())
        .collect()
}

#[test]
fn hard_links_in_another_order_are_the_same() {
    let old = tar(&[(FILE, "a", "x"), (LINK, "b", "a"), (LINK, "c", "b")]);
    let new = tar(&[(FILE, "c", "x"), (LINK, "a", "./c"), (LINK, "b", "c")]);
    assert_eq!(compared(&old, &new).unwrap(), same(3));
    let copies = tar(&[(FILE, "a", "x"), (FILE, "b", "x"), (FILE, "c", "x")]);
    assert_eq!(names(compared(&old, &copies)), ["a", "b", "c"]);
    let fewer = tar(&[(FILE, "a", "x"), (LINK, "b", "a"), (FILE, "c", "x")]);
    assert_eq!(names(compared(&old, &fewer)), ["c"]);
    let changed = tar(&[(FILE, "a", "y"), (LINK, "b", "a"), (LINK, "c", "b")]);
    assert_eq!(names(compared(&old, &changed)), ["a", "b", "c"]);
}

#[test]
fn links_types_and_folders_count() {
    let old = tar(&[(FILE, "a", "x"), (SYMLINK, "b", "a")]);
    let new = tar(&[(FILE, "a", "x"), (SYMLINK, "b", "./a")]);
    assert_eq!(names(compared(&old, &new)), ["b"]);
    let new = tar(&[(FILE, "a", "x"), (FILE, "b", "a")]);
    assert_eq!(names(compared(&old, &new)), ["b"]);
    // A folder without a member of its own exists too, unless it is empty.
    let old = tar(&[(FILE, "d/a", "x"), (FOLDER, "d/", ""), (FOLDER, "./", "")]);
    let new = tar(&[(FILE, "./d/a", "x")]);
    assert_eq!(compared(&old, &new).unwrap(), same(1));
    let new = tar(&[(FILE, "d/a", "x"), (FOLDER, "e/", "")]);
    let Ok(Comparison::Archive { files, differences }) = compared(&old, &new) else {
        panic!();
    };
    assert_eq!((files, differences.len()), (1, 1));
    assert!(differences[0].is_folder);
}

#[test]
fn the_same_member_twice_is_one() {
    let once = tar(&[(FILE, "a", "x"), (FOLDER, "d", "")]);
    let twice = tar(&[
        (FILE, "a", "x"),
        (FOLDER, "d/", ""),
        (FOLDER, "d", ""),
        (FILE, "./a", "x"),
    ]);
    assert_eq!(compared(&once, &twice).unwrap(), same(1));
}

#[test]
fn archives_that_depend_on_the_order_of_members_are_refused() {
    let cases: &[&[TestMember<'_>]] = &[
        &[(FILE, "a", "x"), (FILE, "a", "y")],
        &[(FILE, "a", "x"), (FILE, "./a", "y")],
        &[(FILE, "a", "x"), (SYMLINK, "a", "x")],
        &[(SYMLINK, "d", "e"), (FILE, "d/a", "x")],
        &[(FILE, "d/a", "x"), (FILE, "d", "x")],
        &[(FILE, "a", "x"), (FILE, "b/../a", "x")],
        &[(LINK, "b", "a"), (FILE, "a", "x")],
        &[(FILE, "a", "x"), (LINK, "b", "c")],
        &[(FILE, "a", "x"), (LINK, "a", "a")],
        &[(FILE, "a", "x"), (SYMLINK, "b", "a"), (LINK, "c", "b")],
        &[(FILE, "a", "x"), (LINK, "b", "a"), (FILE, "a", "x")],
        &[(FILE, "a", "x"), (FOLDER, "d", "x")],
        &[(FILE, "a", "x"), (SYMLINK, "d/", "x")],
    ];
    for case in cases {
        let refusal = refusal(&tar(case));
        assert!(
            refusal.starts_with("it is ambiguous"),
            "{case:?}: {refusal}"
        );
    }
}

#[test]
fn unknown_types_are_refused() {
    for kind in [*b"SDMVN7AX", *b"89EIzQ\xffB"].concat() {
        let archive = tar(&[(FILE, "a", "x"), (EntryType::new(kind), "b", "")]);
        assert_eq!(
            refusal(&archive),
            "it has an unknown feature: a type of member",
            "{kind}"
        );
    }
}

#[test]
fn archives_without_a_whole_end_are_refused() {
    let whole = tar(&[(FILE, "a", "x")]);
    assert_eq!(compared(&whole, &whole).unwrap(), same(1));
    let members = &whole[..1024];
    assert_eq!(refusal(members), "it is damaged: cut before its end");
    let one = &whole[..1536];
    assert_eq!(refusal(one), "it is damaged: cut before its end");
    let followed = [&whole, &b"x"[..]].concat();
    assert_eq!(refusal(&followed), "it is damaged: bytes after its end");
    let again = [&whole[..1536], &whole].concat();
    assert_eq!(refusal(&again), "it is damaged: one block of zeros alone");
    let nothing = tar(&[(FOLDER, "d", "")]);
    assert_eq!(refusal(&nothing), "it has no files");
}

#[test]
fn extended_headers_are_read_or_refused() {
    let with = |kind, content: &str| {
        let mut archive = tar(&[(EntryType::new(kind), "PaxHeaders/a", content)]);
        archive.truncate(1024);
        [archive, tar(&[(FILE, "a", "x")])].concat()
    };
    let plain = tar(&[(FILE, "a", "x")]);
    for (kind, content) in [
        (b'x', "11 mtime=1\n"),
        (b'x', "10 path=a\n"),
        (b'g', "13 comment=a\n"),
        (b'L', "a\0"),
        (b'x', "9 size=1\n"),
    ] {
        let archive = with(kind, content);
        assert_eq!(compared(&plain, &archive).unwrap(), same(1), "{content}");
    }
    for (kind, content) in [
        (b'x', "22 GNU.sparse.major=1\n"),
        (b'x', "23 SCHILY.xattr.user=a\n"),
        (b'g', "10 path=a\n"),
        (b'g', "9 size=1\n"),
        (b'K', "a\0"),
        (b'x', "14 linkpath=a\n"),
        (b'L', "a\0b\0"),
        (b'L', "\0"),
    ] {
        let archive = with(kind, content);
        assert!(compared(&plain, &archive).is_err(), "{content}");
    }
}

/// A zip archive of one stored file, `a` with the bytes `x`.
fn zip() -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(vec![]);
    let (mut entry, config) = archive.new_file("a").start().unwrap();
    let mut data = config.wrap(&mut entry);
    data.write_all(b"x").unwrap();
    let (_, output) = data.finish().unwrap();
    entry.finish(output).unwrap();
    archive.finish().unwrap()
}

/// Offsets in a header of the directory, and in the record at the end.
const VERSION: usize = 6;
const FLAGS: usize = 8;
const METHOD: usize = 10;
const CRC: usize = 16;
const SIZE: usize = 24;
const NAME_LENGTH: usize = 28;
const TYPE: usize = 41;
const PLACE: usize = 42;
const NAME: usize = 46;
const DISK: usize = 4;
const MEMBERS: usize = 10;
const DIRECTORY_SIZE: usize = 12;
const DIRECTORY_PLACE: usize = 16;

#[test]
fn zip_archives_that_contradict_themselves_are_refused() {
    let whole = zip();
    assert_eq!(compared(&whole, &whole).unwrap(), same(1));
    let find = |mark: &[u8]| whole.windows(4).position(|it| it == mark).unwrap();
    let (directory, end) = (find(b"PK\x01\x02"), find(b"PK\x05\x06"));
    let header = [VERSION, FLAGS, METHOD, CRC, SIZE, NAME_LENGTH, PLACE, NAME];
    let places = header.iter().map(|offset| directory + offset);
    let places =
        places.chain([DISK, MEMBERS, DIRECTORY_SIZE, DIRECTORY_PLACE].map(|offset| end + offset));
    for place in places {
        let mut wrong = whole.clone();
        wrong[place] ^= 0x41;
        assert!(compared(&whole, &wrong).is_err(), "{}", place - directory);
    }
    for kind in [0o01, 0o02, 0o06, 0o14] {
        let mut other = whole.clone();
        other[directory + 5] = 3;
        other[directory + TYPE] = kind << 4;
        let refusal = refusal(&other);
        assert_eq!(refusal, "it has an unknown feature: a type of member");
    }
    let before = [b"PK\x03\x04", &whole[..]].concat();
    assert!(compared(&whole, &before).is_err());
    let after = [&whole[..], b"x"].concat();
    assert!(compared(&whole, &after).is_err());
}

#[test]
fn times_may_be_negative_and_owners_must_be_numbers() {
    let plain = tar(&[(FILE, "a", "x")]);
    let with = |at: usize, field: &[u8]| {
        let mut archive = plain.clone();
        let header = archive.first_chunk_mut::<512>().unwrap();
        header[at..at + field.len()].copy_from_slice(field);
        let mut header = Header::from_byte_slice(header).clone();
        header.set_cksum();
        archive[..512].copy_from_slice(header.as_bytes());
        archive
    };
    let negative = with(136, &[0xff; 12]);
    assert_eq!(compared(&plain, &negative).unwrap(), same(1));
    for at in [108, 116, 136] {
        let refusal = refusal(&with(at, b"00x"));
        assert_eq!(refusal, "it is damaged: the owner or the time of a member");
    }
}
