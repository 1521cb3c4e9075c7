//! Documents in JSON: notebooks and CSL-JSON. Only what can hold a URL is kept in memory.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::bibtex::{begins_doi, begins_url, doi, each};
use super::collector::{Collector, Lines};
use super::{MAX_MARKDOWN, markdown};
use crate::model::ReadError;

/// The most strings in the text of a cell.
const MAX_PIECES: usize = 256 * 1024;

/// Reads the `URL` and the `DOI` of each reference.
pub(super) fn read_csl(bytes: &[u8], collector: &mut Collector<'_, '_>) -> Result<(), ReadError> {
    read(
        bytes,
        collector,
        &["URL", "DOI"],
        None,
        &mut |object, lines, collector| {
            for (name, value) in object {
                let line = lines.of(value);
                let Ok(text) = serde_json::from_str::<String>(value.get()) else {
                    continue;
                };
                if *name == "DOI" {
                    each(&text, begins_doi, &doi, collector, line)?;
                } else {
                    each(
                        &text,
                        begins_url,
                        &|url| Some(url.to_owned()),
                        collector,
                        line,
                    )?;
                }
            }
            Ok(())
        },
    )
}

/// Reads the Markdown cells of a notebook.
pub(super) fn read_notebook(
    bytes: &[u8],
    collector: &mut Collector<'_, '_>,
) -> Result<(), ReadError> {
    let names = &["cell_type", "source"];
    read(
        bytes,
        collector,
        names,
        Some("cells"),
        &mut |cell, lines, collector| {
            let find = |name| {
                cell.iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| *value)
            };
            let (Some(kind), Some(source)) = (find("cell_type"), find("source")) else {
                return Ok(());
            };
            if serde_json::from_str::<&str>(kind.get()).ok() != Some("markdown") {
                return Ok(());
            }
            let line = lines.of(source);
            let Some(pieces) = pieces(source) else {
                return collector.refuse(
                    line,
                    "bad-cell",
                    "the cell has no text, or too much".to_owned(),
                );
            };
            let mut text = String::new();
            let mut starts = Vec::with_capacity(pieces.len());
            for piece in pieces {
                starts.push((text.len(), lines.of(piece)));
                let piece = serde_json::from_str::<String>(piece.get()).unwrap_or_default();
                text.push_str(&piece);
            }
            for (offset, url) in markdown::references(&text) {
                let index = starts.partition_point(|(start, _)| *start <= offset);
                let found = starts.get(index.saturating_sub(1));
                collector.take(&url, found.map_or(line, |(_, line)| *line))?;
            }
            Ok(())
        },
    )
}

/// The strings of a `source`: one, or a list of lines.
fn pieces(source: &RawValue) -> Option<Vec<&RawValue>> {
    if source.get().len() > MAX_MARKDOWN {
        return None;
    }
    if source.get().starts_with('"') {
        return Some(vec![source]);
    }
    let pieces: Vec<&RawValue> = serde_json::from_str(source.get()).ok()?;
    (pieces.len() <= MAX_PIECES).then_some(pieces)
}

/// The lines of values in the text that was parsed.
struct RawLines<'de> {
    bytes: &'de [u8],
    lines: Lines<'de>,
}

impl RawLines<'_> {
    fn of(&mut self, value: &RawValue) -> u64 {
        // A raw value is a part of the text.
        let offset = value.get().as_ptr() as usize - self.bytes.as_ptr() as usize;
        self.lines.at(offset)
    }
}

/// The wanted members of an object.
type Members<'a, 'de> = &'a [(&'static str, &'de RawValue)];

type OnObject<'f, 'de, 'c, 'a, 's> = dyn FnMut(Members<'_, 'de>, &mut RawLines<'de>, &mut Collector<'a, 's>) -> Result<(), ReadError>
    + 'f;

/// Passes each object of the list at the top, or of the list `inside` the object at the top.
fn read<'de, 'a, 's>(
    bytes: &'de [u8],
    collector: &mut Collector<'a, 's>,
    names: &'static [&'static str],
    inside: Option<&'static str>,
    each: &mut OnObject<'_, 'de, '_, 'a, 's>,
) -> Result<(), ReadError> {
    let mut deserializer = Deserializer::from_slice(bytes);
    let mut failure = None;
    let mut lines = RawLines {
        bytes,
        lines: Lines::new(bytes, 1),
    };
    let walk = Walk {
        names,
        inside,
        take: &mut |members: Members<'_, 'de>| match each(members, &mut lines, collector) {
            Ok(()) => true,
            Err(error) => {
                failure = Some(error);
                false
            }
        },
    };
    let result = walk
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (failure, result) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => {
            let line = error.line().max(1) as u64;
            collector.refuse(
                line,
                "bad-json",
                format!("the document is no valid JSON: {error}"),
            )
        }
    }
}

/// Walks the objects without keeping them. `take` returns whether to go on.
struct Walk<'w, 'de> {
    names: &'static [&'static str],
    inside: Option<&'static str>,
    take: &'w mut dyn FnMut(Members<'_, 'de>) -> bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if self.inside.is_some() {
            return Err(A::Error::custom("an object was expected"));
        }
        while list
            .next_element_seed(ObjectSeed {
                names: self.names,
                take: &mut *self.take,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Some(inside) = self.inside else {
            return Err(A::Error::custom("a list was expected"));
        };
        while let Some(key) = object.next_key::<String>()? {
            if key == inside {
                object.next_value_seed(Walk {
                    inside: None,
                    names: self.names,
                    take: &mut *self.take,
                })?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct ObjectSeed<'w, 'de> {
    names: &'static [&'static str],
    take: &'w mut dyn FnMut(Members<'_, 'de>) -> bool,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut members: Vec<(&'static str, &'de RawValue)> = vec![];
        while let Some(key) = object.next_key::<String>()? {
            let name = self.names.iter().find(|name| **name == key);
            match name.filter(|name| members.iter().all(|(known, _)| known != *name)) {
                Some(name) => members.push((name, object.next_value()?)),
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        if (self.take)(&members) {
            Ok(())
        } else {
            Err(A::Error::custom("the sink failed"))
        }
    }
}
