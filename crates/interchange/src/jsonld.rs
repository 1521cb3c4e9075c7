//! JSON-LD that describes files: Croissant, RO-Crate, `DataCite` in schema.org, and other descriptions with `contentUrl`.
//!
//! The reader resolves no context. Keys and types count by their last part, so `sc:contentUrl` is `contentUrl`.

use std::io::Read;
use std::sync::Arc;

use url::Url;
use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::json_text::{Cursor, JsonText, Value, digests};
use crate::model::{FilePromise, ListItem, Notice, ReadError, Sink};

/// The size limit of a file, in which an RO-Crate describes some 50,000 files.
const MAX_FILE: u64 = 16 << 20;

/// The depth limit of nested values.
const MAX_DEPTH: u32 = 127;

/// The length limit of a URL, in bytes.
const MAX_URL: usize = 64 << 10;

/// Reads the files of a description: objects with `contentUrl`, and those of type `File` whose `@id` is a URL, or a path
/// below `base`, the URL of the folder with the description. Several URLs of a file are its mirrors.
///
/// Left out are files in other files (`contained`), sets of files (`file-set`), repositories (`git`), files without a URL
/// (`relative`), and sizes with a unit, which round (`size`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON or is nested more than 127 deep, [`ReadError::Input`] if it is larger
/// than 16 MiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let json = JsonText::of_file(&text);
    let mut reader = Reader {
        base: base.and_then(|base| Url::parse(base).ok()),
        events: FileEvents { file, sink },
    };
    reader.walk(&mut json.parse(file)?.cursor(), 0)
}

/// The keys of an object that describe a file.
const KEYS: [&str; 6] = [
    "@type",
    "@id",
    "contentUrl",
    "contentSize",
    "containedIn",
    "encodingFormat",
];

/// The values of an object that describe a file.
#[derive(Default)]
struct Description<'a> {
    /// The values of [`KEYS`].
    values: [Option<Value<'a>>; KEYS.len()],
    /// The values of the algorithms.
    digests: [Option<Value<'a>>; Algorithm::ALL.len()],
}

impl<'a> Description<'a> {
    /// The place for the value of a key; `None` if the key describes no file.
    fn place(&mut self, key: &str) -> Option<&mut Option<Value<'a>>> {
        let name = last_part(key);
        if let Some(index) = KEYS.iter().position(|known| *known == name) {
            return self.values.get_mut(index);
        }
        let index = Algorithm::ALL
            .into_iter()
            .position(|algorithm| algorithm.name() == name)?;
        self.digests.get_mut(index)
    }
}

/// The part of a key or a type behind its prefix or the address of its vocabulary.
fn last_part(name: &str) -> &str {
    name.rsplit([':', '/', '#']).next().unwrap_or(name)
}

struct Reader<'a, 'b> {
    base: Option<Url>,
    events: FileEvents<'a, 'b>,
}

impl Reader<'_, '_> {
    /// Visits every object of the value at the cursor, the inner ones first.
    fn walk(&mut self, cursor: &mut Cursor<'_>, depth: u32) -> Result<(), ReadError> {
        let is_list = cursor.enter('[');
        if !is_list && !cursor.enter('{') {
            cursor.value();
            return Ok(());
        }
        let mut description = Description::default();
        while cursor.has_next() {
            let key = if is_list { None } else { Some(cursor.key()) };
            // A context maps names, and describes nothing.
            if key.as_deref() == Some("@context") {
                cursor.value();
            } else if let Some(value) = key.and_then(|key| description.place(&key)) {
                *value = Some(cursor.value()).filter(|value| !value.is_null());
            } else if depth < MAX_DEPTH {
                self.walk(cursor, depth + 1)?;
            } else {
                let line = cursor.value().line();
                let message = "recursion limit exceeded";
                return Err(ReadError::malformed(self.events.file, line, message));
            }
        }
        self.object(&description)
    }

    /// An object whose keys are all read.
    fn object(&mut self, description: &Description<'_>) -> Result<(), ReadError> {
        let [types, id, urls, size, contained, encoding] = description.values;
        let Some(place) = urls.or(id).or(types) else {
            return Ok(());
        };
        let line = place.line();
        let is = |wanted: &str| has(types, |name| last_part(name) == wanted);
        if is("FileSet") {
            let why = "the files of a set have no URLs of their own";
            return self.events.skip(line, "file-set", why);
        }
        let is_file = is("File") || is("FileObject");
        if urls.is_none() && !is_file {
            return Ok(());
        }
        if contained.is_some() {
            let why = "the file is part of another file";
            return self.events.skip(line, "contained", why);
        }
        if has(encoding, |encoding| encoding.starts_with("git+")) {
            return self.events.skip(line, "git", "the source is a repository");
        }
        let Some(urls) = urls.or(id.filter(|_| is("File"))) else {
            let why = "the file has no `contentUrl`";
            return self.events.refuse(line, "no-url", why);
        };
        let length = size.and_then(Value::number);
        if let Some(size) = size.filter(|_| length.is_none()) {
            let why = "a size with a unit is no exact number of bytes";
            self.events.skip(size.line(), "size", why)?;
        }
        let stated = description.digests.map(|it| it.filter(|it| !it.is("")));
        let Some(found) = digests(stated, &mut self.events)? else {
            return Ok(());
        };
        let promise = FilePromise { length, ..found };
        for url in urls.items() {
            let item = self.item(url);
            self.events.promise(item, &promise)?;
        }
        Ok(())
    }

    /// The item of a URL, of a reference, or of an object with the URL as its `@id`.
    fn item(&self, value: Value<'_>) -> Result<ListItem, Notice> {
        let location = self.events.at(value.line());
        let id = value.get("@id").unwrap_or(value);
        let short = Some(id).filter(|id| id.length() <= MAX_URL);
        let Some(text) = short.and_then(Value::text) else {
            let message = "the URL is no text of at most 64 KiB";
            return Err(Notice::refused(location, "bad-value", message));
        };
        if Url::parse(&text).is_ok() {
            return ListItem::new(location, &text);
        }
        let is_local = text.is_empty() || text.starts_with('#') || text.starts_with("_:");
        let base = self.base.as_ref().filter(|_| !is_local);
        if let Some(url) = base.and_then(|base| base.join(&text).ok()) {
            return ListItem::new(location, url.as_str());
        }
        let message = format!("{text:?} has a URL only below a base");
        Err(Notice::left_out(location, "relative", message))
    }
}

/// Whether a text, or one of a list of texts, is wanted.
fn has(value: Option<Value<'_>>, is_wanted: impl Fn(&str) -> bool) -> bool {
    value
        .into_iter()
        .flat_map(Value::items)
        .any(|item| item.text().is_some_and(|text| is_wanted(&text)))
}
