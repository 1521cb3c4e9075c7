//! Trees of thousands of entries with every edge of the formats, against an independent count in Python.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use urldb_format::{Algorithm, Value};
use urldb_interchange::budget::Budget;
use urldb_interchange::htaccess::HtaccessTree;
use urldb_interchange::table::Columns;
use urldb_interchange::{
    NoticeSeverity, ReadError, ReadEvent, Sink, annex, bazel_registry, brew_json, conandata,
    datapackage, debian_sources, dvc, jsonld, metalink, nix_sources, redirects, schemastore, sums,
    table, tfds,
};

/// Files of a tree.
const FILES: u64 = 300;

/// Entries of a file.
const ENTRIES: u64 = 20;

/// Deterministic numbers (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            write!(text, "{:016x}", self.next()).unwrap();
        }
        text.truncate(digits);
        // A digest has a letter, so that it is no number.
        text.replace_range(..1, "a");
        if self.below(4) == 0 {
            text.to_uppercase()
        } else {
            text
        }
    }

    /// Subresource integrity of zero to three values, or what is none.
    fn integrity(&mut self) -> String {
        let base64 = |bytes: usize, first: char| {
            let length = bytes.div_ceil(3) * 4;
            let padding = (3 - bytes % 3) % 3;
            format!(
                "{first}{}{}",
                "A".repeat(length - padding - 1),
                "=".repeat(padding)
            )
        };
        let first = char::from(b'B' + u8::try_from(self.below(20)).unwrap());
        let sha256 = format!("sha256-{}", base64(32, first));
        match self.below(9) {
            0 => String::new(),
            1 => format!("sha384-{}", base64(48, first)),
            2 => format!("{sha256} sha512-{}", base64(64, first)),
            3 => format!(
                "{sha256} sha256-{} sha384-{}",
                base64(32, 'Z'),
                base64(48, first)
            ),
            4 => "unknown".to_owned(),
            5 => format!("{sha256} sha224-{}", base64(28, first)),
            6 => format!("{sha256}?ct=x"),
            _ => sha256,
        }
    }
}

/// An item or a notice in one line.
fn line(event: &ReadEvent) -> String {
    match event {
        ReadEvent::Item(item) => {
            let uri = item.is_held().then(|| item.record.path.clone());
            let mut line = uri.unwrap_or_else(|| item.url().unwrap().to_string());
            if let Some(length) = item.record.content_length {
                write!(line, " length={length}").unwrap();
            }
            if let Some(Value::Text(accept)) = item.record.request_headers.get("Accept") {
                write!(line, " accept={accept}").unwrap();
            }
            if let Some(status) = item.record.status {
                write!(line, " status={status}").unwrap();
            }
            if let Some(target) = &item.record.redirects_to {
                write!(line, " to={target}").unwrap();
            }
            for algorithm in Algorithm::ALL {
                if let Some(digest) = item.record.digest(algorithm) {
                    write!(line, " {}={digest}", algorithm.name()).unwrap();
                }
            }
            line
        }
        ReadEvent::Notice(notice) => {
            let word = match notice.severity {
                NoticeSeverity::Refused => "refused",
                NoticeSeverity::LeftOut => "left out",
                NoticeSeverity::Remark => "remark",
            };
            let count = match notice.count {
                1 if notice.code != "bottle" => String::new(),
                count => format!(" {count}"),
            };
            format!("{word} {}{count}", notice.code)
        }
    }
}

type Read<'a> = &'a dyn Fn(&[u8], &Path, &mut Sink<'_>) -> Result<(), ReadError>;

/// Compares what `read` finds in the files with what the script finds.
fn compare(format: &str, files: &[(PathBuf, String)], read: Read<'_>) {
    let tree = tempfile::tempdir().unwrap();
    let mut found = vec![];
    for (path, text) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let result = read(text.as_bytes(), &path, &mut |event| {
            found.push(line(&event));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{error}"));
    }
    found.sort();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lists/count.py");
    let counted = Command::new("python3")
        .arg(script)
        .arg(format)
        .arg(tree.path())
        .output();
    let counted = match counted {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no python3");
            return;
        }
        other => other.unwrap(),
    };
    if counted.status.code() == Some(77) {
        eprintln!("skipped: python3 has no PyYAML");
        return;
    }
    assert!(
        counted.status.success(),
        "{}",
        String::from_utf8_lossy(&counted.stderr)
    );
    let text = String::from_utf8(counted.stdout).unwrap();
    let mut counted: Vec<&str> = text.lines().collect();
    counted.sort_unstable();
    assert!(found.len() > 3000, "{} lines", found.len());
    for (number, (found, counted)) in found.iter().zip(&counted).enumerate() {
        assert_eq!(found, counted, "line {number} of {format}");
    }
    assert_eq!(found.len(), counted.len());
}

/// A tree of `FILES` files of `ENTRIES` entries each.
fn tree(
    name: &dyn Fn(u64) -> String,
    head: &dyn Fn(u64) -> String,
    entry: &mut dyn FnMut(u64, u64) -> String,
) -> Vec<(PathBuf, String)> {
    let file = |number| {
        let mut text = head(number);
        for index in 0..ENTRIES {
            text.push_str(&entry(number, index));
        }
        (PathBuf::from(name(number)), text)
    };
    (0..FILES).map(file).collect()
}

#[test]
fn lists_of_digests() {
    let mut numbers = Numbers(1);
    let name = |number| match number % 5 {
        0 => format!("{number}/B2SUMS"),
        1 => format!("{number}/registry.txt"),
        _ => format!("{number}/SHA256SUMS"),
    };
    let signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n";
    let head = |number| {
        if number % 3 == 0 {
            signed.to_owned()
        } else {
            "\u{feff}# list\n\n".to_owned()
        }
    };
    let mut files = tree(&name, &head, &mut |file, index| {
        let name = format!("{file}-{index}");
        let sha256 = numbers.hex(64);
        let digits = [32, 40, 64, 96, 128][usize::try_from(numbers.below(5)).unwrap()];
        let any = numbers.hex(digits);
        match numbers.below(20) {
            0 | 1 => format!("{any}  {name}\n"),
            2 => format!("{any} *./{name}\r\n"),
            3 => format!("\\{sha256}  {name}\\n\\\\\n"),
            4 => format!("SHA256 ({name} (1)) = {sha256}\n"),
            5 => format!("SHA2-512({name})= {}\n", numbers.hex(128)),
            6 => format!("SM3 ({name}) = {sha256}\n"),
            7 => format!("{name} sha256:{sha256}\n"),
            8 => format!("{name} {sha256} https://b.test/{name}\n"),
            9 => format!("\"{name} x\" md5:{}\n", numbers.hex(32)),
            10 => format!("{name} xxh64:{}\n", numbers.hex(16)),
            11 => format!("# {sha256}  {name}\n; {sha256}\n\n"),
            12 => format!("{sha256}  ../{name}\n"),
            13 => format!("{name}\n"),
            15 => format!("BLAKE2b ({name}) = {}\n", numbers.hex(128)),
            16 => format!("SHA224 ({name}) = {}\n", numbers.hex(56)),
            17 => format!("{} {name}\n", numbers.hex(56)),
            18 => format!("{name} {}\n", numbers.hex(8)),
            14 => format!("MD5 ({name}) = {sha256}\n"),
            _ => format!("- {sha256}\n"),
        }
    });
    for (_, text) in &mut files {
        if text.starts_with('-') {
            text.push_str(
                "-----BEGIN PGP SIGNATURE-----\n\nabc def\n-----END PGP SIGNATURE-----\n",
            );
        }
    }
    compare("sums", &files, &|bytes, path, sink| {
        sums::read(
            bytes,
            &path.display().to_string().into(),
            "http://a.test/",
            sink,
        )
    });
}

#[test]
fn tables() {
    let mut numbers = Numbers(2);
    let delimiter = |number: u64| [",", "\t", ";"][usize::try_from(number % 3).unwrap()];
    let head = |number| {
        let names = [
            "# Upstream URL",
            "Size",
            "sha-256",
            "MD5 sum",
            "Owner",
            "SHA512",
        ];
        format!("{}\n", names.join(delimiter(number)))
    };
    let files = tree(
        &|number| format!("{number}.csv"),
        &head,
        &mut |file, index| {
            let url = match numbers.below(8) {
                0 => format!("ftp://a.test/{file}"),
                1 => "https://a.test/twice".to_owned(),
                2 => format!("\"https://a.test/{file}/{index}\""),
                _ => format!("http://a.test/{file}/{index}"),
            };
            let mut cell = |digits: usize| match numbers.below(6) {
                0 => String::new(),
                1 => format!("\" {} \"", numbers.hex(digits)),
                2 if numbers.below(9) == 0 => "word".to_owned(),
                _ => numbers.hex(digits),
            };
            let (sha256, md5, sha512) = (cell(64), cell(32), cell(128));
            let size = match numbers.below(10) {
                0 => String::new(),
                1 => "many".to_owned(),
                _ => numbers.below(1 << 40).to_string(),
            };
            let row = [
                url,
                size,
                sha256,
                md5,
                "\"a \"\"b\"\"\n\"".to_owned(),
                sha512,
            ];
            format!(
                "{}{}",
                row.join(delimiter(file)),
                ["\n", "\r\n", "\n\n"][usize::try_from(numbers.below(3)).unwrap()]
            )
        },
    );
    compare("table", &files, &|bytes, path, sink| {
        table::read(
            bytes,
            &path.display().to_string().into(),
            &Columns::default(),
            sink,
        )
    });
}

#[test]
fn checksums_of_tfds() {
    let mut numbers = Numbers(3);
    let name = |number| format!("url_checksums/{number}.txt");
    let files = tree(
        &name,
        &|_| "# checksums\n".to_owned(),
        &mut |file, index| {
            let url = format!("http://a.test/{file}/{index}");
            let (size, sha256) = (numbers.below(1 << 40), numbers.hex(64));
            match numbers.below(8) {
                0 => format!("{url} {size} {sha256}\n"),
                1 => format!("{url}  {size}  {sha256}  \r\n"),
                2 => format!("{url}\t{size}\t{sha256}\t\n"),
                3 => format!("{url}\t{size}\n"),
                4 => format!("{url} {size} {}\n\n", numbers.hex(63)),
                5 => format!("# {url}\n{url}\tx\t{sha256}\tname\n"),
                6 => format!("{url}/a%20b {size} {sha256}\n"),
                _ => format!("{url}\t{size}\t{sha256}\tname {index}\n"),
            }
        },
    );
    compare("tfds", &files, &|bytes, path, sink| {
        tfds::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn bazel_registries() {
    let mut numbers = Numbers(4);
    let mut files = vec![];
    for number in 0..FILES * ENTRIES / 4 {
        let folder = format!("modules/m{number}/1.{number}");
        let url = format!("http://a.test/{number}");
        let files_of = |key: &str, numbers: &mut Numbers| {
            let files = (0..numbers.below(3))
                .map(|it| format!("\"{key}{it}\": \"{}\"", numbers.integrity()));
            files.collect::<Vec<_>>().join(", ")
        };
        let mut fields = vec!["\"docs_url\": \"https://x.test/{TAG}\"".to_owned()];
        match numbers.below(8) {
            0 => fields
                .push("\"type\": \"git_repository\", \"remote\": \"https://x.test/\"".to_owned()),
            1 => fields.push("\"type\": \"local_path\"".to_owned()),
            2 => fields.push(format!("\"type\": \"archive\", \"url\": \"{url}\"")),
            3 => {}
            _ => fields.push(format!("\"url\": \"{url}\"")),
        }
        match numbers.below(4) {
            0 => {}
            1 => fields.push("\"integrity\": null".to_owned()),
            _ => fields.push(format!("\"integrity\": \"{}\"", numbers.integrity())),
        }
        if numbers.below(3) == 0 {
            fields.push(format!("\"mirror_urls\": [\"{url}/b\", \"{url}/c\"]"));
        }
        fields.push(format!("\"patches\": {{{}}}", files_of("p", &mut numbers)));
        fields.push(format!("\"overlay\": {{{}}}", files_of("o/", &mut numbers)));
        files.push((
            PathBuf::from(format!("{folder}/source.json")),
            format!("{{{}}}", fields.join(",\n")),
        ));
        if numbers.below(4) == 0 {
            let attestation = format!(
                "{{\"url\": \"{url}/x.jsonl\", \"integrity\": \"{}\"}}",
                numbers.integrity()
            );
            let text = format!(
                "{{\"mediaType\": \"x\", \"attestations\": {{\"a\": {attestation}, \"b\": {attestation}}}}}"
            );
            files.push((PathBuf::from(format!("{folder}/attestations.json")), text));
        }
    }
    for base in [None, Some("https://r.test/")] {
        let format = if base.is_some() {
            "bazel-registry-base"
        } else {
            "bazel-registry"
        };
        compare(format, &files, &|bytes, path, sink| {
            bazel_registry::read(bytes, &path.display().to_string().into(), base, sink)
        });
    }
}

#[test]
fn conan_recipes() {
    let mut numbers = Numbers(5);
    let name = |number| format!("recipes/{number}/all/conandata.yml");
    let head = |_| "# \u{e9}\nsources:\n".to_owned();
    let files = tree(&name, &head, &mut |file, index| {
        let key = format!("  \"1.{index}\":\n");
        let url = format!("http://a.test/{file}/{index}");
        let (sha256, md5) = (numbers.hex(64), numbers.hex(32));
        let one = match numbers.below(11) {
            0 => format!("    url: [{url}, '{url}/b']\n    sha256: {sha256}\n"),
            1 => format!(
                "    url:\n      - {url}\n      - \"{url}/b\"\n    sha256: '{sha256}'\n    md5: {md5}\n"
            ),
            2 => format!("    x64:\n      gcc:\n        url: {url}\n        sha256: {sha256}\n"),
            3 => format!(
                "    - url: {url}\n      sha256: null\n    - url: {url}/b\n      sha256:\n      md5: ~\n"
            ),
            4 => format!("    url: {url}\n    sha256: word\n"),
            5 => format!("    url: {url}\n    commit: {}\n", numbers.hex(40)),
            6 => "    url: ~\n    sha256: null\n".to_owned(),
            7 => format!(
                "    url: http://a.test/twice\n    sha1: {}\n",
                numbers.hex(40)
            ),
            8 => format!("    url: ftp://a.test/{file}\n    sha256: {sha256}\n"),
            9 => format!(
                "    patches:\n      - patch_file: patches/x.patch\n        sha256: {sha256}\n"
            ),
            _ => format!("    url: >-\n      {url}\n    sha256: \"{sha256}\" # comment\n"),
        };
        format!("{key}{one}")
    });
    compare("conandata", &files, &|bytes, path, sink| {
        conandata::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn redirects_of_sites() {
    let mut numbers = Numbers(8);
    let name = |number| format!("{number}/_redirects");
    let head = |_| "\u{feff}# rules\n\n".to_owned();
    let files = tree(&name, &head, &mut |file, index| {
        let from = format!("/{file}/{}", index % 13);
        let to = ["/new", "https://b.test/x?y#z", "http://b.test"];
        let to = to[usize::try_from(numbers.below(3)).unwrap()];
        let status = [
            "", "301", "302!", "200", "404", "308", "30", "word", "301 x",
        ];
        let status = status[usize::try_from(numbers.below(9)).unwrap()];
        match numbers.below(16) {
            0 => format!("{from}/* {to} {status}\n"),
            1 => format!("{from}/:name/x {to} {status}\n"),
            2 => format!("{from} id=:id {to} {status}\n"),
            3 => format!("{from}?a=b {to}\n"),
            4 => format!("{from} {to} 302 Country=us,ca Language=en\n"),
            5 => format!("{from}\n"),
            6 => format!("word {to}\n"),
            7 => format!("http://Old.test{from} {to} {status} # comment\n"),
            8 => format!("  {from}\t{to}\t{status}\r\n"),
            _ => format!("{from} {to} {status}\n"),
        }
    });
    for base in ["http://a.test/sub/", "https://a.netlify.app/"] {
        let format = if base.contains("netlify") {
            "redirects-netlify"
        } else {
            "redirects"
        };
        compare(format, &files, &|bytes, path, sink| {
            redirects::read(
                bytes,
                &path.display().to_string().into(),
                base,
                &Budget::default(),
                sink,
            )
        });
    }
}

/// A tree of files with a JSON list of entries, which stand between `head` and `tail`.
fn json_tree(
    name: &str,
    [head, tail]: [&str; 2],
    entry: &mut dyn FnMut(u64, u64) -> String,
) -> Vec<(PathBuf, String)> {
    let file = |number| {
        let entries: Vec<String> = (0..ENTRIES).map(|index| entry(number, index)).collect();
        let text = format!("\u{feff}{head}{}{tail}", entries.join(",\n"));
        (PathBuf::from(format!("{number}/{name}")), text)
    };
    (0..FILES).map(file).collect()
}

#[test]
fn sources_of_nix() {
    let mut numbers = Numbers(9);
    let around = [
        "{\"version\": 1, \"sources\": [",
        "], \"revision\": [{}]}\n",
    ];
    let files = json_tree("sources.json", around, &mut |file, index| {
        let url = format!("http://a.test/{file}/{index}");
        let urls = match numbers.below(6) {
            0 => format!("[\"{url}\", \"mirror://gnu/{index}\", \"{url}/b\"]"),
            1 => format!("[\"ftp://a.test/{index}\", \"{url}\", 7]"),
            2 => "\"word\"".to_owned(),
            3 => "[]".to_owned(),
            _ => format!("[\"{}\"]", url.replace('/', "\\/")),
        };
        let integrity = match numbers.below(6) {
            0 => "null".to_owned(),
            1 => "[1]".to_owned(),
            2 => format!("\"sha256:{}\"", numbers.hex(64)),
            _ => format!("\"{}\"", numbers.integrity()),
        };
        let kind = ["url", "url", "url", "git", "hg", "no-origin"];
        let kind = kind[usize::try_from(numbers.below(6)).unwrap()];
        let more = match numbers.below(8) {
            0 => ", \"outputHashMode\": \"recursive\"",
            1 => ", \"outputHashMode\": \"flat\", \"postFetch\": \"\"",
            2 => ", \"postFetch\": \"unpack\"",
            _ => "",
        };
        format!("{{\"type\": \"{kind}\",\n\"urls\": {urls}, \"integrity\": {integrity}{more}}}")
    });
    compare("nix-sources", &files, &|bytes, path, sink| {
        nix_sources::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn formulas_of_homebrew() {
    let mut numbers = Numbers(10);
    let files = json_tree("formula.json", ["[", "]\n"], &mut |file, index| {
        let url = format!("https://a.test/{file}/{index}");
        let checksum = match numbers.below(5) {
            0 => "null".to_owned(),
            1 => "\"word\"".to_owned(),
            _ => format!("\"{}\"", numbers.hex(64)),
        };
        let stable = match numbers.below(9) {
            8 => format!("{{\"url\": \"{url}\", \"tag\": \"v1\", \"checksum\": {checksum}}}"),
            0 => "null".to_owned(),
            1 => format!("{{\"url\": \"{url}.git\", \"tag\": \"v1\", \"checksum\": null}}"),
            2 => format!(
                "{{\"url\": \"{url}\", \"revision\": \"7\", \"using\": \"svn\", \"tag\": null}}"
            ),
            3 => format!("{{\"checksum\": {checksum}}}"),
            _ => format!("{{\"url\": \"{url}\", \"tag\": null,\n\"checksum\": {checksum}}}"),
        };
        let head = match numbers.below(2) {
            0 => String::new(),
            _ => format!(", \"head\": {{\"url\": \"{url}.git\"}}"),
        };
        let bottles = numbers.below(4);
        let bottles = (0..bottles).map(|it| format!("\"os{it}\": {{\"url\": \"{url}\"}}"));
        let bottles = bottles.collect::<Vec<_>>().join(", ");
        format!(
            "{{\"name\": \"n{index}\", \"urls\": {{\"stable\": {stable}{head}}}, \"bottle\": {{\"stable\": {{\"rebuild\": 0, \"files\": {{{bottles}}}}}}}}}"
        )
    });
    compare("brew-json", &files, &|bytes, path, sink| {
        brew_json::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn catalogues_of_schemas() {
    let mut numbers = Numbers(11);
    let around = ["{\"$schema\": \"https://x.test/\", \"schemas\": [", "]}"];
    let files = json_tree("catalog.json", around, &mut |file, index| {
        let url = format!("https://a.test/{file}/{index}.json");
        let versions = match numbers.below(4) {
            0 => format!(", \"versions\": {{\"1\": \"{url}?1\",\n\"2\": \"ftp://a.test/\"}}"),
            1 => ", \"versions\": [1]".to_owned(),
            _ => ", \"versions\": null".to_owned(),
        };
        let url = match numbers.below(9) {
            0 => "\"x\": \"\"".to_owned(),
            1 => "\"url\": {}".to_owned(),
            _ => format!("\"url\": \"{url}\""),
        };
        format!("{{\"name\": \"\u{e9}\", {url}, \"fileMatch\": [\"*.x\"]{versions}}}")
    });
    compare("schemastore", &files, &|bytes, path, sink| {
        schemastore::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn packages_of_data() {
    let mut numbers = Numbers(20);
    let around = [
        "{\"name\": \"x\", \"resources\": [",
        "], \"version\": \"1\"}",
    ];
    let files = json_tree("datapackage.json", around, &mut |file, index| {
        let url = format!("https://a.test/{file}/{index}");
        let path = match numbers.below(9) {
            0 => "\"data\": []".to_owned(),
            1 => "\"title\": \"\"".to_owned(),
            2 => format!("\"path\": [\"{index}.csv\", \"{url}\"]"),
            3 => format!("\"path\": [\"{index} b/\u{e9}.csv\"]"),
            4 => "\"path\": \"../x\"".to_owned(),
            5 => format!("\"path\": \"ftp://a.test/{index}\""),
            6 => format!("\"path\": \"d/{file}/{index}.csv\""),
            _ => format!("\"path\":\n\"{url}\""),
        };
        let bytes = match numbers.below(6) {
            0 => String::new(),
            1 => ", \"bytes\": null".to_owned(),
            2 => ", \"bytes\": 1.5".to_owned(),
            _ => format!(", \"bytes\": {}", numbers.below(1 << 40)),
        };
        let hash = match numbers.below(9) {
            0 => String::new(),
            1 => format!(", \"hash\": \"sha256:{}\"", numbers.hex(64)),
            2 => ", \"hash\": \"crc32:aaaaaaaa\"".to_owned(),
            3 => ", \"hash\": \"word\"".to_owned(),
            4 => format!(", \"hash\": \"sha512:{}\"", numbers.hex(128)),
            5 => format!(", \"hash\": \"sha1:{}\"", numbers.hex(39)),
            _ => format!(", \"hash\": \"{}\"", numbers.hex(32)),
        };
        format!("{{{path}{bytes}{hash}, \"schema\": {{\"fields\": [{{\"path\": 1}}]}}}}")
    });
    compare("datapackage", &files, &|bytes, path, sink| {
        let file = path.display().to_string().into();
        datapackage::read(bytes, &file, Some("https://b.test/d/"), sink)
    });
}

#[test]
fn descriptions_in_json_ld() {
    let mut numbers = Numbers(21);
    let around = [
        "{\"@context\": {\"sha256\": \"sc:sha256\", \"x\": {\"contentUrl\": \"https://c.test/\"}}, \"@graph\": [",
        "]}",
    ];
    let files = json_tree("x.jsonld", around, &mut |file, index| {
        let url = format!("https://a.test/{file}/{index}");
        let kind = [
            "cr:FileObject",
            "File",
            "cr:FileSet",
            "Dataset",
            "DataDownload",
            "File",
        ];
        let kind = kind[usize::try_from(numbers.below(6)).unwrap()];
        let kind = match numbers.below(3) {
            0 => format!("[\"X\", \"{kind}\"]"),
            _ => format!("\"{kind}\""),
        };
        let id = match numbers.below(5) {
            0 => format!("\"#{index}\""),
            1 => format!("\"d/{index}%20b\""),
            2 => "null".to_owned(),
            _ => format!("\"{url}/id\""),
        };
        let urls = match numbers.below(7) {
            0 | 1 => String::new(),
            2 => format!(", \"contentUrl\": [\"{url}\", {{\"@id\": \"{url}/2\"}}]"),
            3 => format!(", \"sc:contentUrl\": \"x/{index}\""),
            4 => ", \"contentUrl\": \"ftp://a.test/\"".to_owned(),
            _ => format!(", \"contentUrl\": \"{}\"", url.replace('/', "\\/")),
        };
        let size = match numbers.below(5) {
            0 => String::new(),
            1 => ", \"contentSize\": \"1 kB\"".to_owned(),
            2 => format!(", \"contentSize\": {}", numbers.below(1 << 40)),
            _ => format!(", \"contentSize\": \"{}\"", numbers.below(1 << 40)),
        };
        let sha256 = match numbers.below(6) {
            0 => String::new(),
            1 => ", \"sha256\": \"https://x.test/80\"".to_owned(),
            2 => ", \"sha256\": \"\"".to_owned(),
            _ => format!(
                ", \"sha256\": \"{}\", \"md5\": \"{}\"",
                numbers.hex(64),
                numbers.hex(32)
            ),
        };
        let more = match numbers.below(8) {
            0 => ", \"containedIn\": {\"@id\": \"x\"}",
            1 => ", \"encodingFormat\": \"git+https\"",
            2 => ", \"encodingFormat\": [\"text/csv\"], \"containedIn\": null",
            _ => "",
        };
        let object = format!("{{\"@type\": {kind}, \"@id\": {id}{urls}{size}{sha256}{more}}}");
        match numbers.below(3) {
            0 => format!("{{\"@type\": \"Dataset\", \"distribution\": [[{object}], 1.5, true]}}"),
            _ => object,
        }
    });
    compare("jsonld", &files, &|bytes, path, sink| {
        let file = path.display().to_string().into();
        jsonld::read(bytes, &file, Some("https://b.test/d/"), sink)
    });
}

#[test]
fn downloads_of_metalink() {
    let mut numbers = Numbers(22);
    let name = |number| format!("{number}.meta4");
    let head = |_| {
        "<?xml version=\"1.0\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\" xmlns:x=\"urn:x\">\n".to_owned()
    };
    let mut files = tree(&name, &head, &mut |file, index| {
        let mut entry = format!("<file name=\"{file}-{index}\">");
        for _ in 0..numbers.below(4) {
            let (digits, name) = [(64, "sha-256"), (32, "md5"), (128, "sha-512"), (8, "crc32")]
                [usize::try_from(numbers.below(4)).unwrap()];
            let value = match numbers.below(12) {
                0 => "word".to_owned(),
                1 => format!("\n{} ", numbers.hex(digits)),
                _ => numbers.hex(digits),
            };
            let hash = format!("<hash type=\"{name}\">{value}</hash>");
            entry.push_str(&hash);
        }
        entry.push_str(match numbers.below(4) {
            0 => "<size>many</size>",
            1 => "",
            2 => "<x:y z='1'/><size>0</size>",
            _ => "<size>99</size><pieces length=\"1\" type=\"md5\"><hash>word</hash></pieces>",
        });
        for mirror in 0..numbers.below(4) {
            let mirror = match numbers.below(6) {
                0 => "<url>ftp://a.test/</url>".to_owned(),
                1 => format!("<url priority='1'>https://a.test/{file}?a&amp;b&#61;{index}</url>"),
                2 => "<metaurl mediatype=\"torrent\">https://t.test/</metaurl>".to_owned(),
                3 => format!("<url> <![CDATA[https://c.test/{index}]]><!-- x -->\n</url>"),
                _ => format!("<url>https://m{mirror}.test/{file}/{index}</url>\n"),
            };
            entry.push_str(&mirror);
        }
        entry + "</file>\n"
    });
    for (_, text) in &mut files {
        text.push_str("</metalink>\n");
    }
    compare("metalink", &files, &|bytes, path, sink| {
        metalink::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn imports_of_dvc() {
    let mut numbers = Numbers(23);
    let files = (0..4_000).map(|file| {
        let mut text = String::from("# \u{e9}\nmd5: x\n");
        if numbers.below(9) == 0 {
            text.push_str("cmd: make\n");
        }
        let deps = numbers.below(8);
        if deps > 0 {
            text.push_str("deps:\n");
        }
        for dep in 0..deps.saturating_sub(4).max(deps.min(1)) {
            let dep = match numbers.below(8) {
                0 => "- path: data\n  repo:\n    url: https://g.test/r\n".to_owned(),
                1 => "- {path: ../x, md5: y}\n".to_owned(),
                2 => "- path: ftp://a.test/x\n".to_owned(),
                _ => format!("- size: 1\n  path: 'https://a.test/{file}/{dep}'\n"),
            };
            text.push_str(&dep);
        }
        let md5 = format!("abc{}", numbers.hex(29).to_lowercase());
        let md5 = match numbers.below(9) {
            0 => format!("{md5}.dir"),
            1 => "word".to_owned(),
            _ => md5,
        };
        let size = ["many", "0", "1234567", "99"][usize::try_from(numbers.below(4)).unwrap()];
        let outs = match numbers.below(6) {
            0 => "outs: []\n".to_owned(),
            1 => format!("outs:\n- md5: {md5}\n  path: x\n"),
            2 => format!("outs:\n- size: {size}\n  path: x\n"),
            _ => format!(
                "outs:\n- md5: {md5}\n  size: {size}\n  hash: md5\n  path: x\n- md5: {md5}\n"
            ),
        };
        text.push_str(&outs);
        (PathBuf::from(format!("{file}.dvc")), text)
    });
    let files: Vec<_> = files.collect();
    compare("dvc", &files, &|bytes, path, sink| {
        dvc::read(bytes, &path.display().to_string().into(), sink)
    });
}

#[test]
fn keys_of_annex() {
    let mut numbers = Numbers(24);
    let files = tree(
        &|number| format!("{number}.json"),
        &|_| "\n".to_owned(),
        &mut |file, index| {
            let digest = numbers.hex(64).to_lowercase();
            let key = match numbers.below(8) {
                0 => "URL--https&c%%a.test".to_owned(),
                1 => format!("WORM-s{index}-m1--x"),
                2 => format!("SHA256-s{index}-S4-C1--{digest}"),
                3 => format!("BLAKE2B256E-s{index}--{digest}.x"),
                4 => format!("MD5E-m1-s{index}--{}.tar.gz", digest.split_at(32).0),
                5 => format!("SHA256--{digest}"),
                _ => format!("SHA256E-s{index}--{digest}.x"),
            };
            let url = format!("https://a.test/{file}/{index}");
            let urls = match numbers.below(6) {
                0 => "[]".to_owned(),
                1 => format!("[\"yt:{url}\", \"{url}\"]"),
                2 => format!("[\"{url}\", \"ftp://a.test/\"]"),
                _ => format!("[\"{url}\"]"),
            };
            match numbers.below(9) {
                0 => "word\n".to_owned(),
                1 => format!("{{\"key\": \"{key}\", \"untrusted\": [{{\"urls\": {urls}}}]}}\n\n"),
                _ => format!(
                    "{{\"key\": \"{key}\", \"file\": \"\\u00e9\", \"whereis\": [{{\"urls\": []}}, {{\"urls\": {urls}}}]}}\n"
                ),
            }
        },
    );
    compare("annex", &files, &|bytes, path, sink| {
        annex::read(bytes, &path.display().to_string().into(), sink)
    });
}

/// A line of `Checksums-…`.
fn listed(numbers: &mut Numbers, digits: usize, length: u64, name: &str) -> String {
    let digest = numbers.hex(digits);
    match numbers.below(40) {
        0 => format!(" {digest} {} {name}\n", length + 1),
        1 => format!(" word {length} {name}\n"),
        2 => format!(" {digest} {length}\n"),
        3 => format!(" {digest} {length} {name}\n {digest} {length} {name}\n"),
        4 => format!(" {digest} many {name}\n"),
        _ => format!(" {digest} {length} {name}\n"),
    }
}

#[test]
fn sources_of_debian() {
    let mut numbers = Numbers(13);
    let files = tree(
        &|number| format!("{number}/Sources"),
        &|_| String::new(),
        &mut |file, index| {
            let names = [
                format!("x_{file}.dsc"),
                format!("x_{file}+{index}~1.tar.xz"),
                "../x".to_owned(),
            ];
            let directory = match numbers.below(12) {
                0 => "Directory: .\n".to_owned(),
                1 => String::new(),
                _ => format!("Directory: pool/{file}/{index}\n"),
            };
            let mut text = format!(
                "Package: x\nBinary: y,\n y:z 1 2\n{directory}Maintainer: \u{e9} <a@b.test>\n"
            );
            for (field, digits) in [
                ("Files", 32),
                ("Checksums-Sha1", 40),
                ("Checksums-Sha256", 64),
                ("Checksums-X", 64),
            ] {
                writeln!(text, "{field}:").unwrap();
                let count = if numbers.below(9) == 0 { 3 } else { 2 };
                for (length, name) in (7..).zip(&names[..count]) {
                    text.push_str(&listed(&mut numbers, digits, length, name));
                }
            }
            text + ["\n", "\n\n", "\n# comment\n"][usize::try_from(numbers.below(3)).unwrap()]
        },
    );
    compare("debian-sources", &files, &|bytes, path, sink| {
        debian_sources::read(
            bytes,
            &path.display().to_string().into(),
            "http://a.test/",
            sink,
        )
    });
}

#[test]
fn packages_of_debian() {
    let mut numbers = Numbers(14);
    let files = tree(
        &|number| format!("{number}/Packages"),
        &|_| String::new(),
        &mut |file, index| {
            let filename = match numbers.below(9) {
                0 => String::new(),
                1 => "Filename: ../x\n".to_owned(),
                2 => format!("Filename: ./x{index}.deb\n"),
                _ => format!("Filename: pool/{file}/x{index}.deb\n"),
            };
            let size = match numbers.below(9) {
                0 => "Size: many\n".to_owned(),
                1 => String::new(),
                _ => format!("Size: {}\n", numbers.below(1 << 40)),
            };
            let digits = if numbers.below(9) == 0 { 63 } else { 64 };
            let sha256 = format!("SHA256: {}\n", numbers.hex(digits));
            let md5 = format!("MD5sum: {}\n", numbers.hex(32));
            format!("Package: x\n{filename}{size}{md5}{sha256}Description: x\n .\n Size: 7\n\n")
        },
    );
    compare("debian-sources", &files, &|bytes, path, sink| {
        debian_sources::read(
            bytes,
            &path.display().to_string().into(),
            "http://a.test/",
            sink,
        )
    });
}

#[test]
fn redirects_of_apache() {
    let mut numbers = Numbers(6);
    let name = |number| format!("{number}/.htaccess");
    let head =
        |_| "\u{feff}# rules \\\nRewriteRule ^x$ http://x.test/\n\nRewriteEngine on\n".to_owned();
    let files = tree(&name, &head, &mut |file, index| {
        let name = format!("{file}-{index}");
        let target = format!("http://t.test/{name}");
        let flags = [
            "[R=301,L]",
            "[R,L]",
            "[L,R=permanent]",
            "\"[redirect=seeother, L]\"",
            "[NE,L] more",
        ];
        let flags = flags[usize::try_from(numbers.below(5)).unwrap()];
        match numbers.below(16) {
            0 => format!("RewriteRule ^{name}$ \\\n {target} {flags}\n"),
            1 => format!("rewriterule ^{name}/?$\t{target} {flags}\n"),
            2 => format!("  RewriteRule \"^{name} (a|b)$\" {target}/$1 {flags}\r\n"),
            3 => format!(
                "RewriteCond %{{HTTP_ACCEPT}} text/turtle\nRewriteRule ^{name}$ {target} {flags}\n"
            ),
            4 => format!(
                "RewriteCond %{{HTTP:Accept}} application/x\\-{name}\nRewriteRule ^{name}$ {target} {flags}\n"
            ),
            5 => format!("RewriteRule ^{name}\\.ttl$ {target} {flags}\n"),
            6 => format!("RewriteRule ^{name}$ - [G]\n"),
            7 => format!("RewriteRule ^{name}$ - [L]\n"),
            8 => format!("RewriteRule ^{name}/.*$ {target} {flags}\n"),
            9 => format!("RewriteRule ^{name}$ {name}.html [L]\n"),
            10 => format!("Redirect /{name}x {target}\n"),
            11 => format!("Redirect permanent '/{name}x' \"{target}#a\"\n"),
            12 => format!("redirect gone /{name}x\n"),
            13 => format!("Redirect 308 /{name}x {target}?q=%20\n"),
            14 => format!(
                "# RewriteRule ^{name}$ {target}\nRewriteRule ^({name}|{name}a)$ {target}?x=$1&y=\\%20 {flags}\n"
            ),
            _ => format!("RewriteRule ^{name}/(x|y)$ {target} {flags}\nOptions -Indexes\n"),
        }
    });
    compare("htaccess", &files, &|bytes, path, sink| {
        let mut tree = HtaccessTree::new(&Budget::default());
        tree.add(bytes, "", &path.display().to_string().into())?;
        tree.read("http://a.test/", sink)
    });
}
