//! Comparisons of random archives, which other programs write.

mod model;

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use model::{Format, Kind, Node, Packing, Tree, WriteOptions, any_options, any_packing, any_tree};
use proptest::prelude::*;
use proptest::sample::Index;
use urldb_contents::{Bounds, Change, Comparison, Difference, Refusal, compare};

/// Random content is small, and compresses well.
const BOUNDS: Bounds = Bounds {
    unpacked: 1 << 30,
    ratio: u64::MAX,
    members: 100_000,
    names: 32 << 20,
};

fn compared(old: &[u8], new: &[u8]) -> Result<Comparison, Refusal> {
    compare(&mut Cursor::new(old), &mut Cursor::new(new), BOUNDS)
}

fn same(files: usize) -> Comparison {
    Comparison::Archive {
        files: files as u64,
        differences: vec![],
    }
}

fn files(tree: &Tree) -> usize {
    let files = tree.values().filter(|node| node.kind != Kind::Folder);
    files.count()
}

fn difference(name: &str, change: Change) -> Difference {
    Difference {
        name: name.into(),
        is_folder: false,
        change,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn order_times_owners_and_compression_do_not_count(
        tree in any_tree(), one in any_options(), other in any_options(),
    ) {
        let other = WriteOptions { format: one.format, ..other };
        let (old, new) = (model::write(&tree, &one), model::write(&tree, &other));
        prop_assert_eq!(compared(&old, &new).unwrap(), same(files(&tree)));
    }

    #[test]
    fn a_changed_member_is_named(
        tree in any_tree(), one in any_options(), other in any_options(), at in any::<Index>(),
        content in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let other = WriteOptions { format: one.format, ..other };
        let names: Vec<&String> = tree.keys().filter(|name| tree[*name].kind == Kind::File).collect();
        let name = names[at.index(names.len())].clone();
        let old = model::write(&tree, &one);
        let mut changed = tree.clone();
        prop_assume!(content != tree[&name].content);
        changed.insert(name.clone(), Node { content, ..tree[&name].clone() });
        let expected = |change, files| Comparison::Archive {
            files,
            differences: vec![difference(&name, change)],
        };
        let count = files(&tree) as u64;
        let new = model::write(&changed, &other);
        prop_assert_eq!(compared(&old, &new).unwrap(), expected(Change::Changed, count));
        let mode = tree[&name].mode ^ 0o100;
        changed.insert(name.clone(), Node { mode, ..tree[&name].clone() });
        let new = model::write(&changed, &other);
        prop_assert_eq!(compared(&old, &new).unwrap(), expected(Change::Changed, count));
        changed.remove(&name);
        prop_assume!(files(&changed) > 0);
        let new = model::write(&changed, &other);
        prop_assert_eq!(compared(&old, &new).unwrap(), expected(Change::Removed, count));
        prop_assert_eq!(compared(&new, &old).unwrap(), expected(Change::Added, count));
    }

    #[test]
    fn a_cut_archive_is_refused(tree in any_tree(), options in any_options(), at in any::<Index>()) {
        let whole = model::write(&tree, &options);
        let cut = &whole[..at.index(whole.len())];
        // Of a plain tar archive, two blocks of zeros are the end, and others may follow.
        let is_padding = whole[cut.len()..].iter().all(|byte| *byte == 0);
        if let Ok(comparison) = compared(&whole, cut) {
            prop_assert!(is_padding && options.packing == Packing::None);
            prop_assert_eq!(comparison, same(files(&tree)));
        }
    }

    #[test]
    fn a_damaged_archive_is_never_called_the_same_wrongly(
        tree in any_tree(), options in any_options(), at in any::<Index>(), bit in 0_u32..8,
    ) {
        let whole = model::write(&tree, &options);
        let mut damaged = whole.clone();
        let at = at.index(whole.len());
        damaged[at] ^= 1_u8 << bit;
        let is_same = matches!(
            compared(&whole, &damaged), Ok(Comparison::Archive { differences, .. }) if differences.is_empty()
        );
        if is_same && options.format != Format::Zip && options.packing == Packing::None {
            prop_assert_eq!(read_again(&whole), read_again(&damaged));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_compared(
        start in prop::sample::select(vec![
            &b""[..], b"PK\x03\x04", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9\x31\x41", b"\x28\xb5\x2f\xfd",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let bytes = [start, &rest].concat();
        let _ = compared(&bytes, &bytes);
    }

    #[test]
    fn one_compressed_file_is_compared_as_a_whole(
        content in prop::collection::vec(any::<u8>(), 1..3000), one in any_packing(), other in any_packing(),
        at in any::<Index>(),
    ) {
        let (old, new) = (model::pack(&content, one), model::pack(&content, other));
        prop_assert_eq!(compared(&old, &new).unwrap(), Comparison::File { is_same: true });
        let mut changed = content.clone();
        changed[at.index(content.len())] ^= 1;
        let new = model::pack(&changed, other);
        prop_assert_eq!(compared(&old, &new).unwrap(), Comparison::File { is_same: false });
        let found = urldb_contents::texts(&mut Cursor::new(&new), BOUNDS, [&b""[..]], 3000).unwrap();
        prop_assert_eq!(found, BTreeMap::from([(vec![], changed)]));
    }
}

/// Name, type, mode, target of a link, and content.
type ReadMember = (Vec<u8>, u8, Option<u32>, Vec<u8>, Vec<u8>);

/// The members of a tar archive without times and owners, as another program reads them.
fn read_again(bytes: &[u8]) -> Option<Vec<ReadMember>> {
    let mut members = vec![];
    for entry in tar::Archive::new(bytes).entries().ok()? {
        let mut entry = entry.ok()?;
        let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
        let kind = entry.header().entry_type();
        let mut content = vec![];
        entry.read_to_end(&mut content).ok()?;
        members.push((
            entry.path_bytes().into_owned(),
            kind.as_byte(),
            entry.header().mode().ok().filter(|_| !kind.is_symlink()),
            link.unwrap_or_default(),
            content,
        ));
    }
    Some(members)
}

#[test]
fn texts_are_those_of_the_members() {
    let tree = Tree::from([
        ("a/short".to_owned(), Node::file(b"one\n")),
        ("a/long".to_owned(), Node::file(&[b'x'; 100])),
    ]);
    for format in Format::ALL {
        let archive = model::write(&tree, &WriteOptions::plain(format));
        let names = ["a/short", "a/long", "absent"].map(str::as_bytes);
        let texts = urldb_contents::texts(&mut Cursor::new(archive), BOUNDS, names, 99).unwrap();
        assert_eq!(
            texts,
            BTreeMap::from([(b"a/short".to_vec(), b"one\n".to_vec())])
        );
    }
}

#[test]
fn archives_beyond_a_bound_are_refused() {
    let tree = Tree::from([
        ("a".to_owned(), Node::file(&vec![0; 500_000])),
        ("b".to_owned(), Node::file(b"x")),
    ]);
    let bounds = |bounds, archive: &[u8]| {
        let result = compare(&mut Cursor::new(archive), &mut Cursor::new(archive), bounds);
        result.unwrap_err().to_string()
    };
    for format in Format::ALL {
        let options = WriteOptions {
            packing: if format == Format::Zip {
                Packing::None
            } else {
                Packing::Gzip
            },
            ..WriteOptions::plain(format)
        };
        let archive = model::write(&tree, &options);
        let too_many_bytes = "it exceeds a limit: unpacked bytes";
        assert_eq!(bounds(Bounds::default(), &archive), too_many_bytes);
        let unpacked = 500_000;
        assert_eq!(
            bounds(Bounds { unpacked, ..BOUNDS }, &archive),
            too_many_bytes
        );
        let members = 1;
        assert_eq!(
            bounds(Bounds { members, ..BOUNDS }, &archive),
            "it exceeds a limit: members"
        );
        let names = 1;
        assert_eq!(
            bounds(Bounds { names, ..BOUNDS }, &archive),
            "it exceeds a limit: names"
        );
        assert_eq!(compared(&archive, &archive).unwrap(), same(2));
    }
}

#[test]
fn archives_of_two_formats_are_compared() {
    let tree = Tree::from([("a".to_owned(), Node::file(b"one\n"))]);
    let archives = Format::ALL.map(|format| model::write(&tree, &WriteOptions::plain(format)));
    for one in &archives {
        for other in &archives {
            assert_eq!(compared(one, other).unwrap(), same(1));
        }
    }
}

#[test]
fn an_archive_is_not_compared_with_a_file() {
    let tree = Tree::from([("a".to_owned(), Node::file(b"one\n"))]);
    let archive = model::write(&tree, &WriteOptions::plain(Format::Gnu));
    let file = model::pack(b"one\n", Packing::Gzip);
    assert!(matches!(compared(&archive, &file), Err(Refusal::Unlike(_))));
    assert!(matches!(
        compared(b"one\n", b"one\n"),
        Err(Refusal::NoArchive)
    ));
    assert!(matches!(compared(b"", b""), Err(Refusal::NoArchive)));
}
