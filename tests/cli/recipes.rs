//! The commands of docs/recipes.md, on small samples.

use std::process::Command;

use crate::sandbox::Sandbox;

const PAGE: &str = include_str!("../../docs/recipes.md");

/// A recipe: its heading, its tool, its file, the content, and the rows of the list.
type Recipe = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const RECIPES: [Recipe; 9] = [
    (
        "PKGBUILD",
        "awk",
        ".SRCINFO",
        "pkgbase = x\n\tpkgver = 1\n\turl = https://a.test/home\n\tsource = x.tgz::https://a.test/x,1.tgz\n\tsource = git+https://a.test/x.git\n\tsource = fix.patch\n\tsource = https://a.test/unsure\n\tsha256sums = AAA\n\tsha256sums = SKIP\n\tsha256sums = BBB\n\tsha256sums = SKIP\n\tsource_x86_64 = https://a.test/bin\n\tsha256sums_x86_64 = CCC\n\npkgname = x\n",
        &[
            "url,sha256",
            "\"https://a.test/x,1.tgz\",AAA",
            "\"https://a.test/unsure\",",
            "\"https://a.test/bin\",CCC",
        ],
    ),
    (
        "Homebrew formula",
        "awk",
        "formula.rb",
        "class X < Formula\n  homepage \"https://a.test/\"\n  url \"https://a.test/x.tgz\"\n  mirror \"https://b.test/x.tgz\"\n  sha256 \"AAA\"\n  head \"https://a.test/x.git\", branch: \"main\"\n\n  bottle do\n    sha256 cellar: :any, arm64_os: \"BBB\"\n  end\n\n  resource \"y\" do\n    url \"https://a.test/y.git\", tag: \"v1\"\n  end\n\n  resource \"z\" do\n    url \"https://a.test/z.tgz\"\n    sha256 \"CCC\"\n  end\n\n  resource \"w\" do\n    url \"https://a.test/#{version}\"\n    sha256 \"BBB\"\n  end\nend\n",
        &[
            "url,sha256",
            "\"https://a.test/x.tgz\",AAA",
            "\"https://b.test/x.tgz\",AAA",
            "\"https://a.test/z.tgz\",CCC",
        ],
    ),
    (
        "conda recipe",
        "python3",
        "meta.yaml",
        "{% set name = \"x\" %}\n{% set version = \"1.2\" %}\n{%set build = 3 %}\n\npackage:\n  name: {{ name|lower }}\n\nsource:\n  - url: https://a.test/{{ name }}-{{version}}.tgz\n    sha256: AAA\n  - url:\n      - https://b.test/{{ build }}\n      - https://c.test/y\n    sha256: \"BBB\"  # [linux]\n  - url: https://a.test/{{ version[0] }}\n    sha256: CCC\n  - url: https://a.test/z\n\nbuild:\n  number: 0\n\nabout:\n  home: https://a.test/home\n",
        &[
            "url,sha256",
            "https://a.test/x-1.2.tgz,AAA",
            "https://b.test/3,BBB",
            "https://c.test/y,BBB",
            "https://a.test/z,",
        ],
    ),
    (
        "Bazel http_archive",
        "python3",
        "WORKSPACE",
        "load(\"@tools//:http.bzl\", \"http_archive\")\n\nVERSION = \"1\"\n\nhttp_archive(\n    name = \"x\",\n    sha256 = \"AAA\",\n    urls = [\n        \"https://a.test/x.tgz\",\n        \"https://b.test/x.tgz\",\n    ],\n)\n\nhttp_file(name = \"y\", url = \"https://a.test/y\", integrity = \"sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=\")\n\nhttp_archive(name = \"z\", url = \"https://a.test/%s\" % VERSION)\n\nother(url = \"https://a.test/other\")\n",
        &[
            "url,digest",
            "https://a.test/x.tgz,AAA",
            "https://b.test/x.tgz,AAA",
            "https://a.test/y,sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=",
        ],
    ),
    (
        "Lock file of npm",
        "jq",
        "package-lock.json",
        "{\"lockfileVersion\": 3, \"packages\": {\"\": {\"name\": \"x\"}, \"node_modules/y\": {\"resolved\": \"https://a.test/y.tgz\", \"integrity\": \"sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=\"}, \"node_modules/z\": {\"resolved\": \"git+ssh://a.test/z\"}, \"node_modules/l\": {\"link\": true}}}\n",
        &[
            "\"url\",\"digest\"",
            "\"https://a.test/y.tgz\",\"sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=\"",
        ],
    ),
    (
        "Flatpak manifest",
        "jq",
        "manifest.json",
        "{\"id\": \"x\", \"modules\": [\"shared/y.json\", {\"name\": \"z\", \"sources\": [{\"type\": \"archive\", \"url\": \"https://a.test/z.tgz\", \"sha256\": \"AAA\"}, {\"type\": \"git\", \"url\": \"https://a.test/g\"}], \"modules\": [{\"sources\": [{\"type\": \"file\", \"url\": \"https://a.test/f\", \"sha256\": \"BBB\"}]}]}]}\n",
        &[
            "\"url\",\"sha256\",\"sha512\"",
            "\"https://a.test/z.tgz\",\"AAA\",",
            "\"https://a.test/f\",\"BBB\",",
        ],
    ),
    (
        "Gentoo Manifest",
        "awk",
        "Manifest",
        "AUX fix.patch 1 BLAKE2B 00 SHA512 00\nDIST x-1.tgz 6 BLAKE2B 00 SHA512 DDD\nDIST y.tgz 7 SHA512 DDD BLAKE2B 00\nEBUILD x-1.ebuild 8 BLAKE2B 00 SHA512 00\n",
        &["DDD  x-1.tgz", "DDD  y.tgz"],
    ),
    (
        "Packages of opam",
        "python3",
        "packages/x/x.1/opam",
        "opam-version: \"2.0\"\ndepends: [ \"ocaml\" {>= \"4.14\"} ]\n# url { src: \"https://no.test/\" }\nurl {\n  src:\n    \"https://a.test/x.tgz\" # the file\n  checksum: [\n    \"sha256=AAA\" ]\n  mirrors: [\"https://b.test/x.tgz\" \"git+https://c.test/x\" {\"https://filter.test/\"}]\n}\nextra-source \"a.patch\" {\n  src: \"\"\"https://a.test/a\"\"\"\n  checksum: \"BBB\"\n}\n(* url { src: \"https://no.test/\" } *)\nextra-source \"b\" { src: \"https://a.test/b.git#v1\" }\n",
        &[
            "{\"url\": \"https://a.test/x.tgz\", \"record\": {\"content-sha256\": \"AAA\"}, \"file\": \"packages/x/x.1/opam\", \"line\": 6}",
            "{\"url\": \"https://b.test/x.tgz\", \"record\": {\"content-sha256\": \"AAA\"}, \"file\": \"packages/x/x.1/opam\", \"line\": 9}",
            "{\"url\": \"https://a.test/a\", \"record\": {\"content-sha256\": \"BBB\"}, \"file\": \"packages/x/x.1/opam\", \"line\": 12}",
        ],
    ),
    (
        "Redirects of OBO PURLs",
        "python3",
        "config/obi.yml",
        "idspace: OBI\nbase_url: /obo/obi\nproducts:\n- obi.owl: https://files.test/obi.owl\nterm_browser: OLS\nexample_terms:\n- OBI_0000070\ntests:\n- from: /old\n  to: http://obi.test/old\nentries:\n- exact: /wiki\n  replacement: http://obi.test/%E2%82%AC?q=a%20b\n  status: permanent\n- regex: ^/obo/obi/(.*)$\n  replacement: http://obi.test/$1\n",
        &[
            "{\"url\": \"http://purl.obolibrary.org/obo/obi.owl\", \"record\": {\"status\": 302, \"redirects-to\": \"https://files.test/obi.owl\"}, \"file\": \"config/obi.yml\", \"line\": 4}",
            "{\"url\": \"http://purl.obolibrary.org/obo/OBI_0000070\", \"record\": {\"status\": 303}, \"file\": \"config/obi.yml\", \"line\": 7}",
            "{\"url\": \"http://purl.obolibrary.org/obo/obi/old\", \"record\": {\"status\": 302, \"redirects-to\": \"http://obi.test/old\"}, \"file\": \"config/obi.yml\", \"line\": 9}",
            "{\"url\": \"http://purl.obolibrary.org/obo/obi/wiki\", \"record\": {\"status\": 301, \"redirects-to\": \"http://obi.test/%e2%82%ac?q=a b\"}, \"file\": \"config/obi.yml\", \"line\": 12}",
        ],
    ),
];

/// A text with digests in place of their names.
fn with_digests(text: &str) -> String {
    ["AAA", "BBB", "CCC"]
        .into_iter()
        .zip(["a", "b", "c"])
        .fold(text.to_owned(), |text, (name, digit)| {
            text.replace(name, &digit.repeat(64))
        })
        .replace("DDD", &"d".repeat(128))
}

/// The headings of the page, and the command below each.
fn commands() -> Vec<(&'static str, &'static str)> {
    let sections = PAGE.split("\n## ").skip(1);
    let commands = sections.map(|section| {
        let (heading, rest) = section.split_once('\n').unwrap();
        let (_, command) = rest.split_once("```sh\n").unwrap();
        (heading, command.split("```").next().unwrap())
    });
    commands.collect()
}

#[test]
fn each_recipe_gives_a_list() {
    let commands = commands();
    let headings: Vec<&str> = commands.iter().map(|(heading, _)| *heading).collect();
    assert_eq!(headings, RECIPES.map(|(heading, ..)| heading));
    for ((heading, command), (_, tool, file, content, rows)) in commands.into_iter().zip(RECIPES) {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("skipped: {heading}: there is no {tool}");
            continue;
        }
        let sandbox = Sandbox::new("");
        sandbox.write(file, with_digests(content));
        let done = sandbox.command("sh").args(["-e", "-c", command]).output();
        let done = done.unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        if errors.contains("No module named") {
            eprintln!("skipped: {heading}: {errors}");
            continue;
        }
        assert!(
            done.status.success() && errors.is_empty(),
            "{heading}: {errors}"
        );
        let list = ["sources.csv", "SHA512SUMS", "opam.jsonl", "purls.jsonl"];
        let list = list
            .into_iter()
            .find(|list| command.contains(&format!("> {list}")))
            .unwrap();
        let import = match list {
            "sources.csv" => format!("import table {list}"),
            "SHA512SUMS" => format!("import sums {list} --base http://a.test/"),
            list => format!("import jsonl {list}"),
        };
        let text = sandbox.read(list).replace('\r', "");
        let found: Vec<&str> = text.lines().collect();
        let wanted: Vec<String> = rows.iter().map(|row| with_digests(row)).collect();
        assert_eq!(found, wanted, "{heading}");
        // A table has a header.
        let records = found.len() - usize::from(list == "sources.csv");
        sandbox.ok(&import).says(&format!("{records} added"));
    }
}
