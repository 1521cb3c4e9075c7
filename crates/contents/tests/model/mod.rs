//! Random trees of files, and their archives.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use proptest::prelude::*;
use proptest::sample::select;

/// Files by name.
pub(crate) type Tree = BTreeMap<String, Node>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The target of a link.
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
}

impl Node {
    pub(crate) fn file(content: &[u8]) -> Self {
        Self {
            kind: Kind::File,
            content: content.to_vec(),
            mode: 0o644,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Gnu,
    Ustar,
    Zip,
}

impl Format {
    pub(crate) const ALL: [Self; 3] = [Self::Gnu, Self::Ustar, Self::Zip];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Xz,
    Bzip2,
    Zstd,
}

/// Everything that does not count in a comparison.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) format: Format,
    pub(crate) packing: Packing,
    pub(crate) level: u32,
    pub(crate) time: u64,
    pub(crate) owner: u64,
    /// Sorts the members.
    pub(crate) seed: u64,
    pub(crate) prefix: &'static str,
}

impl WriteOptions {
    pub(crate) fn plain(format: Format) -> Self {
        Self {
            format,
            packing: Packing::None,
            level: 6,
            time: 0,
            owner: 0,
            seed: 0,
            prefix: "",
        }
    }
}

pub(crate) fn any_packing() -> impl Strategy<Value = Packing> {
    select(vec![
        Packing::Gzip,
        Packing::Xz,
        Packing::Bzip2,
        Packing::Zstd,
    ])
}

pub(crate) fn any_options() -> impl Strategy<Value = WriteOptions> {
    let options = (
        select(Format::ALL.to_vec()),
        prop_oneof![1 => Just(Packing::None), 4 => any_packing()],
        1_u32..=9,
        0_u64..1 << 32,
        0_u64..1 << 20,
        any::<u64>(),
        select(vec!["", "./"]),
    );
    options.prop_map(
        |(format, packing, level, time, owner, seed, prefix)| WriteOptions {
            format,
            packing: match format {
                Format::Zip => Packing::None,
                _ => packing,
            },
            level,
            time,
            owner,
            seed,
            prefix: match format {
                Format::Zip => "",
                _ => prefix,
            },
        },
    )
}

/// At least one file. Names have three letters or more than a header of tar holds, and no name is the beginning of another.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    let name = prop_oneof![
        4 => "[a-cä]{3}",
        1 => "[a-c]{3}/[a-c]{3}",
        1 => "[a-c]{3}/[a-c]{60}/[a-c]{3}",
    ];
    let node = (
        select(vec![Kind::File, Kind::File, Kind::Folder, Kind::Symlink]),
        prop::collection::vec(any::<u8>(), 0..1500),
        select(vec![0o644, 0o755, 0o4755, 0o600]),
        "[a-z]{1,120}",
    );
    let node = node.prop_map(|(kind, content, mode, target)| Node {
        content: match kind {
            Kind::File => content,
            Kind::Folder => vec![],
            Kind::Symlink => target.into_bytes(),
        },
        kind,
        mode,
    });
    let nodes = prop::collection::btree_map(name, node, 0..12);
    (nodes, "[x-z]{2}").prop_map(|(nodes, first)| {
        let is_below = |name: &String| {
            let parents = name.match_indices('/').map(|(at, _)| &name[..at]);
            let mut parents = parents.filter_map(|parent| nodes.get(parent));
            parents.any(|parent| parent.kind != Kind::Folder)
        };
        let mut tree: Tree = nodes
            .clone()
            .into_iter()
            .filter(|(name, _)| !is_below(name))
            .collect();
        tree.insert(first, Node::file(b"always there"));
        tree
    })
}

pub(crate) fn write(tree: &Tree, options: &WriteOptions) -> Vec<u8> {
    let mut members: Vec<(&String, &Node)> = tree.iter().collect();
    let mut seed = options.seed;
    for last in (1..members.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(seed >> 33).unwrap() % (last + 1);
        members.swap(last, at);
    }
    match options.format {
        Format::Zip => zip(&members, options),
        _ => pack(&tar(&members, options), options.packing),
    }
}

fn tar(members: &[(&String, &Node)], options: &WriteOptions) -> Vec<u8> {
    let mut archive = tar::Builder::new(vec![]);
    for (name, node) in members {
        let mut header = match options.format {
            Format::Ustar => tar::Header::new_ustar(),
            _ => tar::Header::new_gnu(),
        };
        header.set_mode(node.mode);
        header.set_mtime(options.time);
        header.set_uid(options.owner);
        header.set_size(0);
        let name = format!("{}{name}", options.prefix);
        match node.kind {
            Kind::File => {
                header.set_size(node.content.len() as u64);
                archive
                    .append_data(&mut header, name, &*node.content)
                    .unwrap();
            }
            Kind::Folder => {
                header.set_entry_type(tar::EntryType::Directory);
                let name = format!("{name}/");
                archive.append_data(&mut header, name, &[][..]).unwrap();
            }
            Kind::Symlink => {
                header.set_entry_type(tar::EntryType::Symlink);
                let target = std::str::from_utf8(&node.content).unwrap();
                archive.append_link(&mut header, name, target).unwrap();
            }
        }
    }
    archive.into_inner().unwrap()
}

fn zip(members: &[(&String, &Node)], options: &WriteOptions) -> Vec<u8> {
    use rawzip::time::UtcDateTime;
    use rawzip::{CompressionMethod, ZipArchiveWriter};

    let time = UtcDateTime::from_unix(i64::try_from(options.time).unwrap());
    let mut archive = ZipArchiveWriter::new(vec![]);
    for (name, node) in members {
        let kind = match node.kind {
            Kind::Folder => {
                let name = format!("{name}/");
                let folder = archive.new_dir(&name).last_modified(time);
                folder
                    .unix_permissions(0o040_000 | node.mode)
                    .create()
                    .unwrap();
                continue;
            }
            Kind::File => 0o100_000,
            Kind::Symlink => 0o120_000,
        };
        let is_deflated = options.owner.is_multiple_of(2);
        let method = if is_deflated {
            CompressionMethod::DEFLATE
        } else {
            CompressionMethod::STORE
        };
        let file = archive
            .new_file(*name)
            .last_modified(time)
            .compression_method(method);
        let file = file.unix_permissions(kind | node.mode);
        let (mut entry, config) = file.start().unwrap();
        let output = if is_deflated {
            let level = flate2::Compression::new(options.level);
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
            let mut data = config.wrap(encoder);
            data.write_all(&node.content).unwrap();
            let (encoder, output) = data.finish().unwrap();
            encoder.finish().unwrap();
            output
        } else {
            let mut data = config.wrap(&mut entry);
            data.write_all(&node.content).unwrap();
            data.finish().unwrap().1
        };
        entry.finish(output).unwrap();
    }
    archive.finish().unwrap()
}

pub(crate) fn pack(content: &[u8], packing: Packing) -> Vec<u8> {
    let mut packed = vec![];
    match packing {
        Packing::None => return content.to_vec(),
        Packing::Gzip => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::read::GzEncoder::new(content, level);
            encoder.read_to_end(&mut packed).unwrap();
        }
        Packing::Xz => {
            let options = lzma_rust2::XzOptions::with_preset(0);
            let mut encoder = lzma_rust2::XzWriter::new(&mut packed, options).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap();
        }
        Packing::Bzip2 => {
            let level = bzip2::Compression::fast();
            let mut encoder = bzip2::read::BzEncoder::new(content, level);
            encoder.read_to_end(&mut packed).unwrap();
        }
        Packing::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            packed = ruzstd::encoding::compress_to_vec(content, level);
        }
    }
    packed
}
