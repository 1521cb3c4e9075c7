//! `conandata.yml` of Conan recipes: every mapping with `url`, at any depth, and its digests.
//!
//! `url` is a text or a list of mirrors. `sha256`, `sha1` and `md5` are digests, and so are `sha384` and `sha512`.

use std::io::Read;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::{Digests, FileEvents};
use crate::input::read_document;
use crate::model::{ListItem, ReadError, Sink};
use crate::yaml::{self, Child, Mapping, Node};

/// The number of values that aliases may repeat in a file.
const MAX_REPEATED: u32 = 10_000;

/// The longest chain of merged mappings.
const MAX_MERGES: u32 = 16;

/// Reads the data of a recipe.
///
/// Left out are git repositories (`git`), mappings whose `url` is null (`no-url`), and digests of other algorithms
/// (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML, is nested too deeply, or repeats too much by aliases;
/// [`ReadError::Input`] if it is larger than 256 KiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = read_document(input, yaml::MAX_FILE, file)?;
    let content = yaml::parse(&text, file)?;
    let mut reader = Reader {
        events: FileEvents { file, sink },
        repeated: MAX_REPEATED,
    };
    let mut documents = content.documents.iter();
    documents.try_for_each(|document| reader.walk(document))
}

struct Reader<'a, 'b> {
    events: FileEvents<'a, 'b>,
    /// The number of values that aliases may still repeat.
    repeated: u32,
}

impl Reader<'_, '_> {
    /// Visits the mappings of a node. What an alias repeats was visited at its anchor.
    fn walk(&mut self, node: &Node) -> Result<(), ReadError> {
        match node {
            Node::Mapping(mapping) => {
                if let Some(url) = self.find(mapping, "url", 0)? {
                    self.source(mapping, url)?;
                }
                let values = mapping.values().filter(|child| !child.is_alias);
                values
                    .into_iter()
                    .try_for_each(|child| self.walk(&child.node))
            }
            Node::List(items) => {
                let mut items = items.iter().filter(|child| !child.is_alias);
                items.try_for_each(|child| self.walk(&child.node))
            }
            Node::Scalar(_) => Ok(()),
        }
    }

    /// The value of a key, also in the mappings that `<<` merges.
    fn find<'n>(
        &mut self,
        mapping: &'n Mapping,
        key: &str,
        depth: u32,
    ) -> Result<Option<&'n Child>, ReadError> {
        if let Some(child) = mapping.get(key) {
            return Ok(Some(child));
        }
        let Some(merged) = mapping.get("<<").filter(|_| depth < MAX_MERGES) else {
            return Ok(None);
        };
        let merged = match &*merged.node {
            Node::List(items) => items.iter().collect(),
            _ => vec![merged],
        };
        for child in merged {
            self.repeat(mapping.line)?;
            if let Node::Mapping(mapping) = &*child.node
                && let Some(found) = self.find(mapping, key, depth + 1)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Counts a value that an alias repeats.
    fn repeat(&mut self, line: u64) -> Result<(), ReadError> {
        let left = self.repeated.checked_sub(1);
        self.repeated = left.ok_or_else(|| {
            let message = format!("aliases repeat more than {MAX_REPEATED} values");
            ReadError::malformed(self.events.file, line, message)
        })?;
        Ok(())
    }

    /// A mapping with `url`.
    fn source(&mut self, mapping: &Mapping, url: &Child) -> Result<(), ReadError> {
        let urls: Vec<&Child> = match &*url.node {
            Node::Scalar(_) => vec![url],
            Node::List(items) => items.iter().collect(),
            // A level between, called `url`.
            Node::Mapping(_) => return Ok(()),
        };
        let commit = self.find(mapping, "commit", 0)?;
        let is_git = commit.is_some_and(|child| child.node.text().is_some_and(|it| !it.is_null()));
        let digests = if is_git {
            Some(vec![])
        } else {
            self.digests(mapping)?
        };
        let Some(digests) = digests else {
            return Ok(());
        };
        for child in urls {
            if url.is_alias || child.is_alias {
                self.repeat(mapping.line)?;
            }
            // Lists and mappings among the mirrors are levels between.
            let Node::Scalar(url) = &*child.node else {
                continue;
            };
            if is_git {
                let why = format!("{} is a git repository", url.text);
                self.events.skip(url.line, "git", &why)?;
            } else if url.is_null() {
                self.events.skip(url.line, "no-url", "`url` is empty")?;
            } else {
                let item = ListItem::new(self.events.at(url.line), url.text.trim());
                self.events
                    .pass(item.map(|item| item.with_digests(&digests)))?;
            }
        }
        Ok(())
    }

    /// The digests of a mapping; `None` if one is refused.
    fn digests(&mut self, mapping: &Mapping) -> Result<Option<Digests>, ReadError> {
        let mut digests = vec![];
        for algorithm in Algorithm::ALL {
            let Some(child) = self.find(mapping, algorithm.name(), 0)? else {
                continue;
            };
            let Some(scalar) = child.node.text() else {
                let why = format!("`{}` is no text", algorithm.name());
                self.events.refuse(mapping.line, "bad-digest", &why)?;
                return Ok(None);
            };
            if scalar.is_null() {
                continue;
            }
            match scalar.digest(algorithm, &mut self.events)? {
                Some(found) => digests.extend(found),
                None => return Ok(None),
            }
        }
        Ok(Some(digests))
    }
}
