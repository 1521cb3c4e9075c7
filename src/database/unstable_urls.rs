//! URLs whose content is likely to change although a record promises its bytes, by host and path alone.

use urldb_text::Code;

/// Names of branches that move.
const BRANCHES: [&str; 5] = ["HEAD", "develop", "main", "master", "trunk"];

/// Names for the newest version.
const NEWEST: [&str; 2] = ["latest", "nightly"];

/// Parameters that make a signed URL, and are enough to recognize one.
const SIGNATURES: [&str; 2] = ["X-Amz-Signature", "X-Goog-Signature"];

/// Pairs of parameters that make a signed URL: the signature, and its end.
const SIGNATURES_WITH_END: [(&str, &str); 2] = [("sig", "se"), ("Signature", "Expires")];

/// The parameter with the signature of a URL that works only for a while.
pub(crate) fn signature_of(path: &str) -> Option<&'static str> {
    let (_, query) = path.split_once('?')?;
    let has = |name: &str| parameters(query).any(|(key, _)| key.eq_ignore_ascii_case(name));
    let single = SIGNATURES.into_iter().find(|name| has(name));
    let mut pairs = SIGNATURES_WITH_END.into_iter();
    single.or_else(|| {
        pairs
            .find(|(signature, end)| has(signature) && has(end))
            .map(|(signature, _)| signature)
    })
}

/// Why the content of a URL is likely to change: `moving-branch`, `moving-name`, `forge-archive` or `share-page`.
/// Of several reasons, the one that changes the content most often.
pub(crate) fn instability(host: &str, path: &str) -> Option<Code> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    if is_of_branch(host, &segments) {
        Some(Code::MovingBranch)
    } else if segments.iter().any(|it| NEWEST.contains(it)) {
        Some(Code::MovingName)
    } else if is_forge_archive(host, &segments) {
        Some(Code::ForgeArchive)
    } else if is_share_page(host, &segments, query) {
        Some(Code::SharePage)
    } else {
        None
    }
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .map(|it| it.split_once('=').unwrap_or((it, "")))
}

/// Whether the host is a domain, or below it.
fn is_at(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// The segments behind `-` of GitLab, which runs on many hosts.
fn of_gitlab<'a, 's>(segments: &'s [&'a str]) -> Option<&'s [&'a str]> {
    let at = segments.iter().position(|it| *it == "-")?;
    segments.get(at + 1..).filter(|_| at >= 2)
}

/// Whether the first of these segments names a branch.
fn is_branch(segments: &[&str]) -> bool {
    match segments {
        ["refs", "heads", _, ..] => true,
        [name, ..] => {
            let name = ["tar.gz", "tar.bz2", "zip"]
                .iter()
                .find_map(|extension| name.strip_suffix(extension)?.strip_suffix('.'));
            let plain = segments.first().copied().unwrap_or_default();
            BRANCHES.contains(&name.unwrap_or(plain))
        }
        [] => false,
    }
}

/// Whether the URL is that of a file, or of an archive, of a branch.
fn is_of_branch(host: &str, segments: &[&str]) -> bool {
    if let Some(["raw" | "blob" | "archive", rest @ ..]) = of_gitlab(segments) {
        return is_branch(rest);
    }
    match (host, segments) {
        ("raw.githubusercontent.com", [_, _, rest @ ..])
        | (
            "github.com",
            [
                _,
                _,
                "raw" | "blob" | "archive" | "tarball" | "zipball",
                rest @ ..,
            ],
        )
        | ("bitbucket.org", [_, _, "raw" | "src" | "get", rest @ ..])
        | ("codeload.github.com", [_, _, _, rest @ ..])
        | ("api.github.com", ["repos", _, _, "tarball" | "zipball", rest @ ..]) => is_branch(rest),
        ("cdn.jsdelivr.net", ["gh", _, name, ..]) => name
            .split_once('@')
            .map(|(_, version)| version)
            .is_some_and(|version| BRANCHES.contains(&version)),
        (_, [_, _, "raw", "branch", _, _, ..]) => true,
        _ if is_at(host, "huggingface.co") => segments
            .iter()
            .position(|it| matches!(*it, "resolve" | "raw" | "blob"))
            .and_then(|at| segments.get(at + 1..))
            .is_some_and(is_branch),
        _ if is_at(host, "googlesource.com") => {
            let at = segments
                .iter()
                .position(|it| *it == "+" || *it == "+archive");
            at.and_then(|at| segments.get(at + 1..))
                .is_some_and(is_branch)
        }
        _ => false,
    }
}

/// Whether a forge makes the archive when it is asked for.
fn is_forge_archive(host: &str, segments: &[&str]) -> bool {
    if let Some(["archive", _, ..]) = of_gitlab(segments) {
        return true;
    }
    match (host, segments) {
        ("github.com", [_, _, "archive" | "tarball" | "zipball", _, ..])
        | ("bitbucket.org", [_, _, "get", _])
        | ("codeberg.org" | "gitea.com" | "git.sr.ht" | "hg.sr.ht", [_, _, "archive", _])
        | (
            "codeload.github.com",
            [
                _,
                _,
                "tar.gz" | "zip" | "legacy.tar.gz" | "legacy.zip",
                _,
                ..,
            ],
        )
        | ("api.github.com", ["repos", _, _, "tarball" | "zipball", ..]) => true,
        _ => is_at(host, "googlesource.com") && segments.contains(&"+archive"),
    }
}

/// Whether the link serves a page that shows the file.
fn is_share_page(host: &str, segments: &[&str], query: &str) -> bool {
    let asks = |name: &str| parameters(query).any(|it| it == (name, "1"));
    let first = segments.first().copied().unwrap_or_default();
    match host {
        "dropbox.com" | "www.dropbox.com" => {
            matches!(first, "s" | "sh" | "scl") && !asks("dl") && !asks("raw")
        }
        "drive.google.com" => matches!(segments, ["file", "d", ..] | ["open"]),
        "docs.google.com" => matches!(segments.last(), Some(&"edit" | &"view")),
        "1drv.ms" | "we.tl" => true,
        "onedrive.live.com" => first != "download",
        "mega.nz" => matches!(first, "file" | "folder"),
        _ if is_at(host, "box.com") => matches!(segments, ["s", _]),
        _ if is_at(host, "sharepoint.com") => first.starts_with(':') && !asks("download"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The code of a URL.
    fn of(url: &str) -> Option<Code> {
        let (host, path) = url.split_once('/').unwrap();
        instability(host, &format!("/{path}"))
    }

    #[test]
    fn each_kind_of_unstable_url_is_known() {
        for (code, urls) in [
            (
                Some(Code::ForgeArchive),
                &[
                    "github.com/o/r/archive/v1.2.tar.gz",
                    "github.com/o/r/archive/refs/tags/v1.2.zip",
                    "github.com/o/r/tarball/v1",
                    "codeload.github.com/o/r/tar.gz/v1",
                    "codeload.github.com/o/r/legacy.zip/refs/tags/v1",
                    "api.github.com/repos/o/r/zipball/v1",
                    "gitlab.com/o/g/r/-/archive/v1/r-v1.tar.gz",
                    "git.a.test/o/r/-/archive/v1/r-v1.tar.gz",
                    "bitbucket.org/o/r/get/v1.tar.gz",
                    "codeberg.org/o/r/archive/v1.tar.gz",
                    "git.sr.ht/~o/r/archive/v1.tar.gz",
                    "chromium.googlesource.com/a/b/+archive/v1.tar.gz",
                ][..],
            ),
            (
                Some(Code::MovingBranch),
                &[
                    "raw.githubusercontent.com/o/r/main/a.csv",
                    "raw.githubusercontent.com/o/r/refs/heads/any/a.csv",
                    "github.com/o/r/raw/master/a.csv",
                    "github.com/o/r/blob/HEAD/a.csv",
                    "github.com/o/r/archive/master.zip",
                    "github.com/o/r/archive/refs/heads/any.tar.gz",
                    "gitlab.com/o/r/-/raw/develop/a.csv?inline=false",
                    "git.a.test/o/r/-/archive/main/r-main.zip",
                    "bitbucket.org/o/r/raw/master/a",
                    "codeberg.org/o/r/raw/branch/any/a",
                    "huggingface.co/o/r/resolve/main/a.bin",
                    "huggingface.co/datasets/o/r/raw/main/a",
                    "cdn.jsdelivr.net/gh/o/r@main/a.js",
                    "x.googlesource.com/r/+/refs/heads/any/a",
                    "x.googlesource.com/r/+/HEAD/a",
                ],
            ),
            (
                Some(Code::MovingName),
                &[
                    "a.test/latest/x.zip",
                    "a.test/pub/nightly",
                    "github.com/o/r/releases/latest/download/x.zip",
                ],
            ),
            (
                Some(Code::SharePage),
                &[
                    "www.dropbox.com/s/abc/x.zip",
                    "www.dropbox.com/scl/fi/abc/x.zip?rlkey=k&dl=0",
                    "drive.google.com/file/d/abc/view?usp=sharing",
                    "drive.google.com/open?id=abc",
                    "docs.google.com/spreadsheets/d/abc/edit",
                    "1drv.ms/u/s!abc",
                    "onedrive.live.com/?id=abc",
                    "app.box.com/s/abc",
                    "x-my.sharepoint.com/:x:/g/abc?e=1",
                    "mega.nz/file/abc",
                ],
            ),
            (
                None,
                &[
                    "github.com/o/r/releases/download/v1/x.zip",
                    "github.com/o/r/raw/0123456789abcdef/a.csv",
                    "github.com/o/archive",
                    "github.com/o/r/archive",
                    "github.com/main/master/wiki",
                    "raw.githubusercontent.com/main/master/v1/main/a.csv",
                    "raw.githubusercontent.com/o/r/v1/main/a.csv",
                    "a.test/o/archive/v1.tar.gz",
                    "a.test/-/archive/v1",
                    "a.test/main/master/HEAD",
                    "a.test/o/raw/main/x",
                    "a.test/latest-news/x?latest",
                    "a.test/Latest.zip",
                    "www.dropbox.com/s/abc/x.zip?dl=1",
                    "www.dropbox.com/scl/fi/abc/x.zip?rlkey=k&raw=1",
                    "dl.dropboxusercontent.com/s/abc/x.zip",
                    "drive.google.com/uc?export=download&id=abc",
                    "docs.google.com/spreadsheets/d/abc/export?format=csv",
                    "onedrive.live.com/download?id=abc",
                    "app.box.com/shared/static/abc.zip",
                    "x.sharepoint.com/:x:/g/abc?download=1",
                    "notdropbox.com/s/abc",
                    "huggingface.co/o/r/resolve/0123abc/a.bin",
                    "cdn.jsdelivr.net/gh/o/r@1.2.3/a.js",
                    "cdn.jsdelivr.net/npm/main@1/latest.js",
                ],
            ),
        ] {
            for url in urls {
                assert_eq!(of(url), code, "{url}");
            }
        }
    }

    #[test]
    fn signed_urls_are_known_by_their_parameters() {
        for (path, wanted) in [
            (
                "/x?X-Amz-Algorithm=a&X-Amz-Signature=s",
                Some("X-Amz-Signature"),
            ),
            ("/x?x-goog-signature=s", Some("X-Goog-Signature")),
            ("/x?sv=1&se=2030&sig=s", Some("sig")),
            ("/x?Expires=1&Signature=s&Key-Pair-Id=k", Some("Signature")),
            ("/x?sig=s", None),
            ("/x?se=1", None),
            ("/x?Signature=s", None),
            ("/x?expires=1", None),
            ("/X-Amz-Signature=s", None),
            ("/x?q=X-Amz-Signature", None),
        ] {
            assert_eq!(signature_of(path), wanted, "{path}");
        }
    }

    /// Words of paths; some belong to the rules for other hosts.
    const WORDS: [&str; 24] = [
        "data",
        "pub",
        "v1.2",
        "2024",
        "x.tar.gz",
        "archive",
        "raw",
        "main",
        "master",
        "blob",
        "s",
        "file",
        "d",
        "view",
        "download",
        "releases",
        "get",
        "branch",
        "index.html",
        "open",
        "sh",
        "tarball",
        "refs",
        "HEAD",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn ordinary_urls_have_no_finding(
            host in "(www|data|dl|git|files)\\.[a-z]{3,9}\\.(org|test|edu)",
            words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6),
            query in proptest::option::of("(id|v|q|expires|sig|dl)=[a-z0-9]{1,5}"),
        ) {
            let mut path = format!("/{}", words.join("/"));
            if let Some(query) = query {
                path = format!("{path}?{query}");
            }
            // Gitea runs on many hosts.
            prop_assume!(!path.contains("/raw/branch/"));
            prop_assert_eq!(instability(&host, &path), None, "{}{}", host, path);
            prop_assert_eq!(signature_of(&path), None, "{}", path);
        }

        #[test]
        fn any_url_is_judged(host in "([a-z.-]{0,9}|github\\.com|x\\.googlesource\\.com|huggingface\\.co)", path in "(/|-|raw|archive|branch|main|\\?|&|=|sig|[ -~]|\\PC){0,12}") {
            instability(&host, &path);
            signature_of(&path);
        }
    }
}
