//! The files of a repository that a server publishes: each promises its own bytes.
//!
//! | a file | promises |
//! |---|---|
//! | any other | its length and SHA-256 |
//! | a pointer of Git LFS | the length and SHA-256 that it names |
//! | a link or a pointer of git-annex | the length and the digest of the key |
//! | a link to something else | nothing: it is left out |

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use urldb_format::Algorithm;

use crate::digest;
use crate::file_events::FileEvents;
use crate::model::{FilePromise, ListItem, ReadError, Sink};
use crate::sums::item_below;

/// The size limit of a pointer. Those of Git LFS have at most 1,023 bytes; the keys of git-annex are file names.
const MAX_POINTER: usize = 1024;

/// The first line of a pointer of Git LFS. Git may have written its lines with CRLF.
const LFS: &str = "version https://git-lfs.github.com/spec/v1";

/// The folder with the files of git-annex, in a link and in a pointer.
const ANNEX: &str = "annex/objects/";

/// Files that git and Apache read, and that servers do not publish.
const OF_SERVERS: [&str; 2] = [".git", ".ht"];

/// The place of a file on the server.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// The path below the base, with `/`.
    pub name: &'a str,
    /// The URL of the folder, with a final `/`.
    pub base: &'a str,
    /// Names of files that the server sends for their folder too, such as `index.html`.
    pub index: &'a [String],
}

/// Reads a file, which `open` opens, or a link. The body of any length is read once, in pieces.
///
/// Left out are links that are none of git-annex (`link`), keys of git-annex without a digest and a length (`annex`), and
/// files whose names begin with `.git` or `.ht` (`of-server`).
///
/// # Errors
/// [`ReadError::Input`] if the file cannot be read.
pub fn read<R: Read>(
    path: &Path,
    file: &Arc<str>,
    published: Published<'_>,
    open: impl FnOnce(&Path) -> io::Result<R>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut events = FileEvents { file, sink };
    let Published { name, base, index } = published;
    let file_name = name.rsplit('/').next().unwrap_or(name);
    if OF_SERVERS.iter().any(|start| file_name.starts_with(start)) {
        return events.skip(1, "of-server", "servers do not publish the file");
    }
    let content = if urldb_files::is_link(path) {
        let target = urldb_files::link_target(path).map_err(ReadError::input(file))?;
        match target.to_str().and_then(key_in) {
            Some(key) => of_key(key),
            None => return events.skip(1, "link", "the file is a link"),
        }
    } else {
        let opened = open(path).map_err(ReadError::input(file))?;
        content_of(opened).map_err(ReadError::input(file))?
    };
    if content.length.is_none() && content.digests.is_empty() {
        let why = "the key of git-annex has neither a length nor a digest";
        return events.skip(1, "annex", why);
    }
    events.promise(item_below(base, name, events.at(1)), &content)?;
    if !index.iter().any(|index| index == file_name) {
        return Ok(());
    }
    let folder = name.strip_suffix(file_name).unwrap_or_default();
    let item = match folder.strip_suffix('/') {
        None => ListItem::new(events.at(1), base),
        Some(folder) => item_below(base, folder, events.at(1)).map(|mut item| {
            item.record.path.push('/');
            item
        }),
    };
    events.promise(item, &content)
}

/// The promise of a file's bytes, or of those that they point at.
fn content_of(mut input: impl Read) -> io::Result<FilePromise> {
    let mut start = Vec::with_capacity(MAX_POINTER + 1);
    let limit = MAX_POINTER as u64 + 1;
    input.by_ref().take(limit).read_to_end(&mut start)?;
    if start.len() <= MAX_POINTER
        && let Some(pointed) = std::str::from_utf8(&start).ok().and_then(pointed_at)
    {
        return Ok(pointed);
    }
    let (mut hash, mut length) = (Sha256::new(), start.len() as u64);
    hash.update(&start);
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = input.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        hash.update(bytes);
        length += read as u64;
    }
    let text = data_encoding::HEXLOWER.encode(&hash.finalize());
    let digest = digest::parse(&text, Some(Algorithm::Sha256)).ok();
    Ok(FilePromise::of(Some(length), digest))
}

/// The content that a pointer names.
fn pointed_at(text: &str) -> Option<FilePromise> {
    if let Some(key) = text.strip_prefix('/').and_then(key_in) {
        return Some(of_key(key));
    }
    let mut lines = text.lines();
    lines.next().filter(|first| *first == LFS)?;
    let value = |key: &str| lines.clone().find_map(|line| line.strip_prefix(key));
    let oid = value("oid sha256:")?;
    let length = value("size ")?.parse().ok()?;
    let digest = digest::parse(oid, Some(Algorithm::Sha256)).ok()?;
    Some(FilePromise::of(Some(length), Some(digest)))
}

/// The pointer of git-annex for the target of a link of git-annex: both stand for the same content.
pub fn pointer_of(target: &str) -> Option<String> {
    key_in(target).map(|key| format!("/{ANNEX}{key}\n"))
}

/// The key of git-annex at the end of a path of its objects.
fn key_in(path: &str) -> Option<&str> {
    let path = path.lines().next()?;
    let (before, key) = path.split_once(ANNEX)?;
    let is_folder = before.is_empty() || before.ends_with('/');
    key.rsplit('/').next().filter(|_| is_folder)
}

/// The promise of a key: `BACKEND-sLENGTH--DIGEST`, with a file extension after the digest if the backend ends in `E`.
pub(crate) fn of_key(key: &str) -> FilePromise {
    let Some((fields, name)) = key.split_once("--") else {
        return FilePromise::default();
    };
    let mut fields = fields.split('-');
    let backend = fields.next().unwrap_or_default();
    // A chunk is a part of the file.
    let is_chunk = fields.clone().any(|field| field.starts_with(['S', 'C']));
    if is_chunk {
        return FilePromise::default();
    }
    let length = fields.find_map(|field| field.strip_prefix('s')?.parse().ok());
    let (algorithm, name) = match backend.strip_suffix('E') {
        Some(algorithm) => (algorithm, name.split('.').next().unwrap_or_default()),
        None => (backend, name),
    };
    let algorithm = Algorithm::from_name(algorithm);
    let digest = algorithm.and_then(|algorithm| digest::parse(name, Some(algorithm)).ok());
    FilePromise::of(length, digest)
}

/// Whether the digest of a key has an algorithm that no record holds.
pub(crate) fn is_of_other_algorithm(key: &str) -> bool {
    let backend = key.split('-').next().unwrap_or_default();
    let name = backend.strip_suffix('E').unwrap_or(backend);
    let has_digest = ["SHA", "BLAKE", "SKEIN", "MD5"]
        .iter()
        .any(|start| name.starts_with(start));
    has_digest && Algorithm::from_name(name).is_none()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::ReadEvent;

    const HELLO: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

    /// The URL and the promise of each item, or the code of each notice.
    fn read_named(folder: &Path, name: &str, index: &[String]) -> Vec<String> {
        let mut found = vec![];
        let published = Published {
            name,
            base: "https://a.example/x/",
            index,
        };
        let open = urldb_files::open_input;
        read(
            &folder.join(name),
            &name.into(),
            published,
            open,
            &mut |event| {
                found.push(match event {
                    ReadEvent::Item(item) => {
                        let url = item.url().unwrap();
                        let length = item.record.content_length;
                        let sha256 = item.record.content_sha256.clone().unwrap_or_default();
                        format!("{} {length:?} {sha256}", url.as_str())
                    }
                    ReadEvent::Notice(notice) => notice.code,
                });
                Ok(())
            },
        )
        .unwrap();
        found
    }

    #[test]
    fn a_file_promises_its_bytes_or_those_that_it_points_at() {
        let folder = tempfile::tempdir().unwrap();
        let lfs = format!("{LFS}\noid sha256:{HELLO}\nsize 6\n");
        let crlf = lfs.replace('\n', "\r\n");
        let annex = format!("/annex/objects/SHA256E-s6--{HELLO}.txt\n");
        let promise = format!("Some(6) {HELLO}");
        let annex_crlf = annex.replace('\n', "\r\n");
        for (name, content) in [
            ("a b.txt", "hello\n"),
            ("lfs", &lfs),
            ("lfs-crlf", &crlf),
            ("annex", &annex),
            ("annex-crlf", &annex_crlf),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
            let url = format!("https://a.example/x/{}", name.replace(' ', "%20"));
            assert_eq!(
                read_named(folder.path(), name, &[]),
                [format!("{url} {promise}")]
            );
        }
        // A file that is only like a pointer is a file.
        let near = format!("{LFS}\noid sha256:1\n");
        fs::write(folder.path().join("near"), &near).unwrap();
        let length = format!("Some({})", near.len());
        assert!(read_named(folder.path(), "near", &[])[0].contains(&length));
        fs::write(folder.path().join(".gitignore"), "x\n").unwrap();
        assert_eq!(read_named(folder.path(), ".gitignore", &[]), ["of-server"]);
    }

    #[test]
    fn an_index_is_its_folder_too() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("v1")).unwrap();
        let index = ["index.html".to_owned()];
        for (name, url) in [("index.html", ""), ("v1/index.html", "v1/")] {
            fs::write(folder.path().join(name), "hello\n").unwrap();
            let found = read_named(folder.path(), name, &index);
            let urls =
                [name, url].map(|path| format!("https://a.example/x/{path} Some(6) {HELLO}"));
            assert_eq!(found, urls);
        }
    }

    #[test]
    fn keys_of_git_annex() {
        let of = |key: &str| {
            let content = of_key(key);
            let digest = content.digests.first();
            let algorithm = digest.map(|(digest, _)| digest.algorithm());
            (content.length.map(|(length, _)| length), algorithm)
        };
        let sha256 = Some(Algorithm::Sha256);
        assert_eq!(of(&format!("SHA256-s6--{HELLO}")), (Some(6), sha256));
        assert_eq!(
            of(&format!("SHA256E-m1-s6--{HELLO}.tar.gz")),
            (Some(6), sha256)
        );
        let md5 = Some(Algorithm::Md5);
        assert_eq!(of("MD5--b1946ac92492d2347c6235b4d2611184"), (None, md5));
        assert_eq!(of("WORM-s6-m1--a.txt"), (Some(6), None));
        assert_eq!(of("URL--http&c%%a.example%a"), (None, None));
        assert_eq!(of(&format!("SHA256-s6-S4-C1--{HELLO}")), (None, None));
        let link = "../.git/annex/objects/3f/2g/WORM-s6-m1--a/WORM-s6-m1--a";
        assert_eq!(key_in(link), Some("WORM-s6-m1--a"));
        let pointer = pointer_of(link).unwrap();
        assert_eq!(pointer, "/annex/objects/WORM-s6-m1--a\n");
        assert_eq!(pointer_of("other/a"), None);
        assert_eq!(key_in("../xannex/objects/a"), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_of_git_annex_need_no_content() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let key = format!("SHA256E-s6--{HELLO}.txt");
        symlink(
            format!(".git/annex/objects/a/b/{key}/{key}"),
            folder.path().join("a.txt"),
        )
        .unwrap();
        symlink("a.txt", folder.path().join("b.txt")).unwrap();
        let promised = format!("https://a.example/x/a.txt Some(6) {HELLO}");
        assert_eq!(read_named(folder.path(), "a.txt", &[]), [promised]);
        assert_eq!(read_named(folder.path(), "b.txt", &[]), ["link"]);
    }

    proptest::proptest! {
        /// Anybody can write a pointer, and name a link.
        #[test]
        fn any_pointer_is_read(text in "(/?annex/objects/)?(SHA256E?|URL)?[-sSCm0-9a-f.]{0,80}|\\PC{0,80}") {
            of_key(&text);
            key_in(&text);
            pointed_at(&format!("{LFS}\n{text}"));
            let whole = content_of(text.as_bytes()).unwrap();
            let is_pointer = text.starts_with('/') && key_in(&text[1..]).is_some();
            proptest::prop_assert!(is_pointer || whole.length == Some((text.len() as u64, None)));
        }
    }
}
