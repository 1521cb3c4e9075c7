//! Merges of random databases, against a model that shares nothing with urldb: three trees of files, records
//! and keys, merged by `urldb resolve` and by the merge driver.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::hook::Repository;
use crate::sandbox::Case;

/// Keys and values of a document. The items of `categories` are separated by spaces.
type Document = BTreeMap<&'static str, String>;

/// The metadata, under the empty path, and the records.
type File = BTreeMap<String, Document>;

type Tree = BTreeMap<String, File>;

const VALUES: [(&str, [&str; 3]); 6] = [
    ("categories", ["w", "x", "y"]),
    ("content-length", ["5", "6", "7"]),
    ("content-sha256", ["ab", "cd", "ef"]),
    ("name", ["one", "two", "three"]),
    ("owner", ["me", "us", "you"]),
    ("title", ["first", "second", "third"]),
];

/// A generator of numbers (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % 1_000_003).unwrap() % end
    }

    fn path(&mut self) -> String {
        format!(
            "/{}",
            char::from(b'a' + u8::try_from(self.below(5)).unwrap())
        )
    }

    fn host(&mut self) -> String {
        format!("h{}.test", self.below(14))
    }

    /// Changes one key of a document. The metadata has no keys of a promise.
    fn change(&mut self, document: &mut Document, is_metadata: bool) {
        let (key, values) = if is_metadata {
            VALUES[4]
        } else {
            VALUES[self.below(6)]
        };
        let value = values[self.below(3)];
        match (key, self.below(5)) {
            (_, 0) => drop(document.remove(key)),
            ("categories", _) => {
                let items = document.get(key).cloned().unwrap_or_default();
                let mut items: BTreeSet<&str> = items.split_whitespace().collect();
                items.insert(value);
                let items: Vec<&str> = items.into_iter().collect();
                document.insert(key, items.join(" "));
            }
            ("content-sha256", _) => drop(document.insert(key, value.repeat(32))),
            _ => drop(document.insert(key, value.to_owned())),
        }
    }

    fn file(&mut self) -> File {
        let mut file = File::from([(String::new(), Document::new())]);
        for _ in 0..=self.below(6) {
            let document = file.entry(self.path()).or_default();
            for _ in 0..self.below(4) {
                self.change(document, false);
            }
        }
        file
    }

    /// The tree with some edits.
    fn edited(&mut self, tree: &Tree) -> Tree {
        let mut tree = tree.clone();
        for _ in 0..40 {
            let host = self.host();
            match self.below(12) {
                0 => drop(tree.remove(&host)),
                1 => drop(tree.entry(host).or_insert_with(|| self.file())),
                kind => {
                    let Some(file) = tree.get_mut(&host) else {
                        continue;
                    };
                    let path = if kind == 2 {
                        String::new()
                    } else {
                        self.path()
                    };
                    if (3..5).contains(&kind) {
                        file.remove(&path);
                    } else {
                        let is_metadata = path.is_empty();
                        self.change(file.entry(path).or_default(), is_metadata);
                    }
                }
            }
        }
        tree
    }
}

fn text_of(path: &str, document: &Document) -> String {
    let mut text = "---\n".to_owned();
    if !path.is_empty() {
        writeln!(text, "_path: {path}").unwrap();
    }
    for (key, value) in document {
        if *key == "categories" {
            text += "categories:\n";
            for item in value.split(' ') {
                writeln!(text, "- {item}").unwrap();
            }
        } else {
            writeln!(text, "{key}: {value}").unwrap();
        }
    }
    text
}

fn text_of_file(file: &File) -> String {
    let documents = file.iter().map(|(path, document)| text_of(path, document));
    documents.collect()
}

/// The merge of one value; `Err` is a conflict.
fn merge_value(
    key: &str,
    [base, ours, theirs]: [Option<&String>; 3],
) -> Result<Option<String>, ()> {
    if ours == theirs || base == theirs {
        return Ok(ours.cloned());
    }
    if base == ours {
        return Ok(theirs.cloned());
    }
    if key != "categories" {
        return Err(());
    }
    let items = [base, ours, theirs].map(|value| {
        let items = value.into_iter().flat_map(|value| value.split(' '));
        items.collect::<BTreeSet<&str>>()
    });
    let [base, ours, theirs] = &items;
    let all = ours.union(theirs).copied();
    let kept = all.filter(|it| !base.contains(it) || ours.contains(it) && theirs.contains(it));
    let kept: Vec<&str> = kept.collect();
    Ok((!kept.is_empty()).then(|| kept.join(" ")))
}

/// The merge of one document, `None` if it is removed; `Err` is a conflict.
fn merge_document(versions: [Option<&Document>; 3]) -> Result<Option<Document>, ()> {
    let [base, ours, theirs] = versions;
    if ours == theirs || base == theirs {
        return Ok(ours.cloned());
    }
    if base == ours {
        return Ok(theirs.cloned());
    }
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Err(());
    };
    let mut merged = Document::new();
    for (key, _) in VALUES {
        let values = versions.map(|version| version.and_then(|version| version.get(key)));
        if let Some(value) = merge_value(key, values)? {
            merged.insert(key, value);
        }
    }
    // A length and a digest that no side has together are no promise.
    let promises = |side: &Document| {
        let mut keys = ["content-length", "content-sha256"].into_iter();
        keys.all(|key| !merged.contains_key(key) || merged.get(key) == side.get(key))
    };
    if promises(ours) || promises(theirs) {
        Ok(Some(merged))
    } else {
        Err(())
    }
}

/// A merged file: its undisputed documents, and the number of the others.
#[derive(Debug, PartialEq)]
enum Merged {
    File(File, usize),
    Removed,
    /// One side removed the file, and the other side changed it.
    Disputed,
}

fn merge_file(versions: [Option<&File>; 3]) -> Merged {
    let [base, ours, theirs] = versions;
    if ours == theirs || base == theirs {
        return ours.map_or(Merged::Removed, |file| Merged::File(file.clone(), 0));
    }
    if base == ours {
        return theirs.map_or(Merged::Removed, |file| Merged::File(file.clone(), 0));
    }
    let paths: BTreeSet<&String> = versions
        .into_iter()
        .flatten()
        .flat_map(File::keys)
        .collect();
    let (mut file, mut conflicts) = (File::new(), 0);
    for path in paths {
        match merge_document(versions.map(|file| file.and_then(|file| file.get(path)))) {
            Ok(document) => {
                file.extend(document.map(|document| (path.clone(), document)));
            }
            Err(()) => conflicts += 1,
        }
    }
    match (
        ours.is_some() && theirs.is_some(),
        file.is_empty() && conflicts == 0,
    ) {
        (true, _) => Merged::File(file, conflicts),
        (false, true) => Merged::Removed,
        (false, false) => Merged::Disputed,
    }
}

fn commit(repository: &Repository, tree: &Tree) {
    repository.git("rm -q -r --ignore-unmatch urldb");
    repository.write("urldb/unchanged.test.yaml", "---\n---\n_path: /\n");
    for (host, file) in tree {
        repository.write(&path_of(host), text_of_file(file));
    }
    repository.git("add --all");
    repository.git("commit -q --no-verify --allow-empty -m change");
}

fn path_of(host: &str) -> String {
    format!("urldb/{host}.yaml")
}

/// The text outside of the markers, and the number of conflicts.
fn undisputed(text: &str) -> (String, usize) {
    let (mut rest, mut conflicts, mut is_disputed) = (String::new(), 0, false);
    for line in text.split_inclusive('\n') {
        if line.starts_with("<<<<<<<") {
            (is_disputed, conflicts) = (true, conflicts + 1);
        } else if line.starts_with(">>>>>>>") {
            is_disputed = false;
        } else if !is_disputed {
            rest += line;
        }
    }
    (rest, conflicts)
}

#[test]
fn random_databases_are_merged_as_the_model_says() {
    let (mut clean, mut disputed, mut removed) = (0, 0, 0);
    for seed in 1..=5_u64 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        let base: Tree = (0..12)
            .map(|number| (format!("h{number}.test"), random.file()))
            .collect();
        let [ours, theirs] = [(), ()].map(|()| random.edited(&base));
        let hosts: BTreeSet<&String> = [&base, &ours, &theirs]
            .into_iter()
            .flat_map(Tree::keys)
            .collect();
        for door in ["resolve", "driver"] {
            let _case = Case((seed, door));
            let repository = Repository::without_hook();
            // A file that one side added is no other one.
            repository.git("config merge.renames false");
            if door == "driver" {
                repository.ok("hook install");
            }
            commit(&repository, &base);
            repository.git("checkout -q -b other");
            commit(&repository, &theirs);
            repository.git("checkout -q main");
            commit(&repository, &ours);
            repository.try_git("merge -q --no-commit --no-verify other");
            // With the driver, only files are left that one side removed, and true conflicts.
            let merges =
                |host: &String| merge_file([&base, &ours, &theirs].map(|tree| tree.get(host)));
            let stopped = repository.git("ls-files --unmerged");
            for host in hosts.iter().filter(|_| door == "driver") {
                let is_clean = matches!(merges(host), Merged::File(_, 0));
                assert!(
                    !is_clean || !stopped.contains(&path_of(host)),
                    "{host}: {stopped}"
                );
            }
            repository.urldb("resolve");
            // Git alone leaves what it merges clean in another order.
            repository.urldb("fmt");
            let left = repository.git("ls-files --unmerged");
            for host in &hosts {
                let is_left = left.contains(&format!("{}\n", path_of(host)));
                let path = path_of(host);
                match merges(host) {
                    Merged::File(file, conflicts) => {
                        let wanted = (text_of_file(&file), conflicts);
                        assert_eq!(undisputed(&repository.read(&path)), wanted, "{host}");
                        assert_eq!(is_left, conflicts > 0, "{host}");
                        if conflicts > 0 {
                            disputed += 1;
                        } else {
                            clean += 1;
                        }
                    }
                    Merged::Removed => {
                        assert!(!repository.path(&path).exists() && !is_left, "{host}");
                        removed += 1;
                    }
                    Merged::Disputed => {
                        assert!(is_left, "{host}");
                        disputed += 1;
                    }
                }
            }
        }
    }
    // The databases must not be too easy.
    assert!(
        clean > 50 && disputed > 30 && removed > 10,
        "{clean} {disputed} {removed}"
    );
}
