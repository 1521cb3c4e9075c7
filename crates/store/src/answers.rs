//! The XML of a store's answers.

use std::time::SystemTime;

use jiff::Timestamp;
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

use crate::listing::ListedObject;

/// An answer that cannot be understood.
#[derive(Debug)]
pub(crate) struct Unreadable;

/// A page of a list of objects.
#[derive(Debug, Default)]
pub(crate) struct ObjectPage {
    /// The objects, whose names are whole keys.
    pub(crate) objects: Vec<ListedObject>,
    /// The token of the next page.
    pub(crate) next: Option<String>,
}

/// Calls `on_end` at the end of each element, with its name and the text since the last tag.
fn read(text: &str, mut on_end: impl FnMut(&str, String)) -> Result<(), Unreadable> {
    let mut reader = Reader::from_str(text);
    let mut content = String::new();
    let mut depth = 0_usize;
    loop {
        match reader.read_event().map_err(|_| Unreadable)? {
            Event::Start(_) => {
                depth += 1;
                content.clear();
            }
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                on_end(element.local_name().as_ref(), std::mem::take(&mut content));
            }
            Event::Text(text) => content.push_str(&text.xml10_content()),
            Event::CData(text) => content.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let char = reference.resolve_char_ref().map_err(|_| Unreadable)?;
                match (char, resolve_xml_entity(&reference)) {
                    (Some(char), _) => content.push(char),
                    (None, Some(text)) => content.push_str(text),
                    (None, None) => return Err(Unreadable),
                }
            }
            Event::Eof if depth == 0 => return Ok(()),
            Event::Eof => return Err(Unreadable),
            _ => {}
        }
    }
}

/// The text of the first element of this name; `None` also if the answer cannot be understood before it.
pub(crate) fn element(text: &str, name: &str) -> Option<String> {
    let mut found = None;
    // Text that is cut off behind the element does not matter.
    let _ = read(text, |ended, content| {
        if ended == name && found.is_none() {
            found = Some(content);
        }
    });
    found
}

impl ObjectPage {
    pub(crate) fn parse(text: &str) -> Result<Self, Unreadable> {
        let mut page = Self::default();
        let mut is_list = false;
        let mut is_whole = true;
        let (mut key, mut length, mut modified) = (None, None, None);
        read(text, |ended, content| match ended {
            "Key" => key = Some(content),
            "Size" => length = content.parse().ok(),
            "LastModified" => modified = content.parse::<Timestamp>().ok(),
            "NextContinuationToken" => page.next = Some(content),
            "Contents" => match (key.take(), length.take(), modified.take()) {
                (Some(name), Some(length), Some(modified)) => page.objects.push(ListedObject {
                    name,
                    length,
                    modified: SystemTime::from(modified),
                }),
                _ => is_whole = false,
            },
            "ListBucketResult" => is_list = true,
            _ => {}
        })?;
        if is_list && is_whole {
            Ok(page)
        } else {
            Err(Unreadable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "<Contents><Key>a&amp;b&#x21;</Key><LastModified>2026-11-22T06:00:00.000Z</LastModified>\
        <ETag>&quot;x&quot;</ETag><Size>7</Size><Owner><ID>1</ID></Owner></Contents>";

    #[test]
    fn a_page_is_read() {
        let text = format!(
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">{OBJECT}<EncodingType/>\
             <NextContinuationToken>t+/=</NextContinuationToken></ListBucketResult>"
        );
        let page = ObjectPage::parse(&text).expect("a page");
        assert_eq!(page.next.as_deref(), Some("t+/="));
        let [object] = &page.objects[..] else {
            panic!("{page:?}")
        };
        assert_eq!((object.name.as_str(), object.length), ("a&b!", 7));
    }

    #[test]
    fn other_answers_are_no_page() {
        for bad in [
            "",
            "no XML",
            "<ListBucketResult>",
            "<html></html>",
            "<ListBucketResult></Other>",
            "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
            &format!(
                "<ListBucketResult>{}</ListBucketResult>",
                OBJECT.replace(">7<", ">-7<")
            ),
            &format!(
                "<ListBucketResult>{}</ListBucketResult>",
                OBJECT.replace("amp", "other")
            ),
        ] {
            assert!(ObjectPage::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_element_is_found_in_a_part_of_an_answer() {
        let text = "<Error><Code>Slow&lt;Down</Code><Message>cut o";
        assert_eq!(element(text, "Code").as_deref(), Some("Slow<Down"));
        assert_eq!(element(text, "Message"), None);
    }
}
