//! The redirects of OBO PURLs: `config/*.yml`, from which a tool makes `RedirectMatch` rules of Apache.
//!
//! | entry | item |
//! |---|---|
//! | `base_redirect` | `base_url` |
//! | `products` | `/obo/KEY` |
//! | `entries`: `exact` or `prefix` with `replacement` | `base_url` and the text |
//! | `tests` of the file or of an entry: `from`, `to` | `base_url` and `from` |
//! | `example_terms` with the `term_browser` `ontobee` or `ols` | `/obo/TERM` |

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::escape::PATH;
use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::model::{ListItem, ReadError, Sink};
use crate::yaml::{self, Child, Mapping, Node, Scalar};

/// The site of the service.
const SITE: &str = "http://purl.obolibrary.org/";

/// The status of a redirect that names none.
const TEMPORARY: u16 = 302;

/// Reads the configuration of a project. `base` is the URL of the site if it is another one, with a final `/`.
///
/// Left out are `regex` entries without tests (`regex`), and terms of other browsers (`custom`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML with `base_url`, or has aliases; [`ReadError::Input`] if it is larger
/// than 256 KiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, yaml::MAX_FILE, file)?;
    let content = yaml::parse(&text, file)?;
    // Few aliases can repeat so much that no reading would end.
    if let Some(line) = content.alias {
        return Err(ReadError::malformed(file, line, "aliases are not read"));
    }
    let project = content.documents.first().and_then(|node| node.mapping());
    let base_url = project.and_then(|project| project.text("base_url"));
    let (Some(project), Some(base_url)) = (project, base_url) else {
        return Err(ReadError::malformed(file, 1, "the file has no `base_url`"));
    };
    let mut reader = Reader {
        events: FileEvents { file, sink },
        site: base.unwrap_or(SITE).trim_end_matches('/'),
        base_url: &base_url.text,
    };
    reader.project(project, base_url.line)
}

struct Reader<'a, 'b> {
    events: FileEvents<'a, 'b>,
    /// The URL of the site, without a final `/`.
    site: &'a str,
    /// The path of the project.
    base_url: &'a str,
}

impl Reader<'_, '_> {
    fn project(&mut self, project: &Mapping, line: u64) -> Result<(), ReadError> {
        if let Some(target) = project.text("base_redirect") {
            self.rule(self.base_url, line, target, TEMPORARY)?;
        }
        for product in self.list(project, "products")? {
            self.product(product)?;
        }
        self.terms(project)?;
        for test in self.list(project, "tests")? {
            self.test(test, project.line, TEMPORARY)?;
        }
        for entry in self.list(project, "entries")? {
            match entry.node.mapping() {
                Some(entry) => self.entry(entry)?,
                None => self
                    .events
                    .refuse(project.line, "bad-value", "an entry is no mapping")?,
            }
        }
        Ok(())
    }

    fn product(&mut self, product: &Child) -> Result<(), ReadError> {
        let pairs = product.node.mapping().into_iter().flat_map(Mapping::pairs);
        for (key, target) in pairs {
            let Some(key) = scalar(key) else {
                continue;
            };
            match scalar(target) {
                Some(target) => {
                    self.rule(&format!("/obo/{}", key.text), key.line, target, TEMPORARY)?;
                }
                None => self
                    .events
                    .refuse(key.line, "bad-value", "the product has no target")?,
            }
        }
        Ok(())
    }

    /// The examples of terms, which all terms of the project redirect like.
    fn terms(&mut self, project: &Mapping) -> Result<(), ReadError> {
        let text = |key| project.text(key).map(|it| it.text.trim());
        let browser = text("term_browser").map(str::to_ascii_lowercase);
        let project_name = text("idspace").unwrap_or_default();
        for term in self.list(project, "example_terms")? {
            let Some(term) = scalar(term) else {
                self.events
                    .refuse(project.line, "bad-value", "a term is no text")?;
                continue;
            };
            // The rules and the tests of the tool have different targets for `ols`.
            let target = match browser.as_deref() {
                Some("ontobee") => Some(format!(
                    "http://www.ontobee.org/browser/rdf.php?o={project_name}&iri={SITE}obo/{}",
                    term.text
                )),
                Some("ols") => None,
                _ => {
                    let why = "no known browser shows the term";
                    self.events.skip(term.line, "custom", why)?;
                    continue;
                }
            };
            let url = format!("{}/obo/{}", self.site, term.text);
            let item = ListItem::new(self.events.at(term.line), &url).map(|mut item| {
                item.record.redirects_to = target;
                item.set_status(303, None);
                item
            });
            self.events.pass(item)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Mapping) -> Result<(), ReadError> {
        let status = match entry.text("status") {
            None => TEMPORARY,
            Some(status) => match &*status.text {
                "permanent" => 301,
                "temporary" => TEMPORARY,
                "see other" => 303,
                _ => {
                    return self
                        .events
                        .refuse(status.line, "bad-value", "the status is unknown");
                }
            },
        };
        let from = if entry.get("exact").is_some() {
            "exact"
        } else {
            "prefix"
        };
        match (entry.text(from), entry.text("replacement")) {
            (Some(from), Some(target)) => {
                let path = format!("{}{}", self.base_url, from.text.trim());
                self.rule(&path, from.line, target, status)?;
            }
            (None, Some(_)) if entry.get("regex").is_some() => {
                if self.list(entry, "tests")?.is_empty() {
                    let why = "the URLs of a regular expression are known only from tests";
                    self.events.skip(entry.line, "regex", why)?;
                }
            }
            _ => {
                let message = "the entry is not `exact`, `prefix` or `regex` with `replacement`";
                self.events.refuse(entry.line, "bad-value", message)?;
            }
        }
        for test in self.list(entry, "tests")? {
            self.test(test, entry.line, status)?;
        }
        Ok(())
    }

    /// A test, or a refusal at the line of the mapping around it.
    fn test(&mut self, test: &Child, line: u64, status: u16) -> Result<(), ReadError> {
        let Some(test) = test.node.mapping() else {
            return self
                .events
                .refuse(line, "bad-value", "a test is no mapping");
        };
        let value = |key| test.text(key);
        let (Some(from), Some(to)) = (value("from"), value("to")) else {
            return self.events.refuse(
                test.line,
                "bad-value",
                "the test has not both `from` and `to`",
            );
        };
        let path = format!("{}{}", self.base_url, from.text);
        self.rule(&path, from.line, to, status)
    }

    /// The redirect from a path of the site.
    fn rule(
        &mut self,
        path: &str,
        line: u64,
        target: &Scalar,
        status: u16,
    ) -> Result<(), ReadError> {
        let Some(sent) = sent_by_apache(&target.text) else {
            let why = "the percent escapes of the target are not UTF-8";
            return self.events.refuse(line, "bad-target", why);
        };
        let url = format!("{}{path}", self.site);
        let item = ListItem::new(self.events.at(line), &url).map(|mut item| {
            let span = target.span.clone().filter(|_| sent == target.text);
            item.set_redirect(sent, span);
            item.set_status(status, None);
            item
        });
        self.events.pass(item)
    }

    /// The list of a key; empty if there is none, or if a notice refused it.
    fn list<'n>(&mut self, mapping: &'n Mapping, key: &str) -> Result<&'n [Child], ReadError> {
        match mapping.get(key).map(|child| &*child.node) {
            None => {}
            Some(Node::List(items)) => return Ok(items),
            Some(Node::Scalar(scalar)) if scalar.is_null() => {}
            Some(_) => {
                let message = format!("`{key}` is no list");
                self.events.refuse(mapping.line, "bad-value", &message)?;
            }
        }
        Ok(&[])
    }
}

/// A text, unless it is null.
fn scalar(child: &Child) -> Option<&Scalar> {
    child.node.text().filter(|scalar| !scalar.is_null())
}

/// The target as Apache sends it. The tool takes the percent escapes from a target before it writes a rule, and Apache
/// escapes the part before the query again. `None` if the escapes are not UTF-8.
fn sent_by_apache(target: &str) -> Option<String> {
    let plain: Cow<'_, str> = percent_decode_str(target).decode_utf8().ok()?;
    let end = plain.find(['?', '#']).unwrap_or(plain.len());
    let (path, rest) = plain.split_at(end);
    let mut sent = String::with_capacity(target.len());
    for part in utf8_percent_encode(path, PATH) {
        match part.strip_prefix('%') {
            Some(_) => sent.push_str(&part.to_ascii_lowercase()),
            None => sent.push_str(part),
        }
    }
    sent.push_str(rest);
    Some(sent)
}
