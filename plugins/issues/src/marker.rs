//! The markers at the begin of an issue's body, by which the notifier finds the issue again.
//!
//! Each incident of the issue has a line `<!-- urldb:incident ID key:KEY -->`, which readers do not
//! see. A closed incident has `urldb:closed` instead. Only the lines before all other text count, so
//! no text from outside can pass for a marker.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) closed: bool,
}

impl Marker {
    /// The marker as a line, without its end.
    pub(crate) fn line(&self) -> String {
        let word = if self.closed { "closed" } else { "incident" };
        format!("<!-- urldb:{word} {} key:{} -->", self.id, self.key)
    }

    fn parse(line: &str) -> Option<Self> {
        let words = line.strip_prefix("<!-- urldb:")?.strip_suffix(" -->")?;
        let (word, rest) = words.split_once(' ')?;
        let (id, key) = rest.split_once(" key:")?;
        let closed = match word {
            "incident" => false,
            "closed" => true,
            _ => return None,
        };
        (is_name(id) && is_name(key)).then(|| Self {
            id: id.to_owned(),
            key: key.to_owned(),
            closed,
        })
    }
}

/// Whether a text can stand in a marker: ids and keys of incidents are hexadecimal digits.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(crate) fn join(markers: &[Marker], text: &str) -> String {
    let mut body: String = markers.iter().map(|marker| marker.line() + "\n").collect();
    body.push_str(text);
    body
}

/// The markers of a body, and the text behind them.
pub(crate) fn split(body: &str) -> (Vec<Marker>, &str) {
    let mut markers = Vec::new();
    let mut rest = body;
    loop {
        // GitHub's own editor writes CRLF.
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        match Marker::parse(line.trim_end()) {
            Some(marker) => markers.push(marker),
            None => return (markers, rest),
        }
        rest = after;
    }
}

/// The marker of the comment about one run, as a line without its end.
pub(crate) fn comment_line(run: &str) -> String {
    let run: String = run.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("<!-- urldb:run {run} -->")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marker(id: &str, key: &str, closed: bool) -> Marker {
        Marker {
            id: id.to_owned(),
            key: key.to_owned(),
            closed,
        }
    }

    #[test]
    fn only_the_first_lines_are_markers() {
        let body = "<!-- urldb:incident a1 key:b2 -->\r\n<!-- urldb:closed c3 key:d4 -->\n\
                    text\n<!-- urldb:incident e5 key:f6 -->\n";
        let (markers, text) = split(body);
        assert_eq!(
            markers,
            [marker("a1", "b2", false), marker("c3", "d4", true)]
        );
        assert_eq!(text, "text\n<!-- urldb:incident e5 key:f6 -->\n");
        for none in [
            "",
            "text",
            " <!-- urldb:incident a1 key:b2 -->",
            "`<!-- urldb:incident a1 key:b2 -->`",
            "<!-- urldb:incident a1 key:b2 --> -->",
            "<!-- urldb:incident a1 b key:b2 -->",
            "<!-- urldb:incident  key:b2 -->",
            "<!-- urldb:other a1 key:b2 -->",
        ] {
            assert_eq!(split(none), (vec![], none), "{none:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_joined_is_split_again(
            markers in proptest::collection::vec(("[a-z0-9]{1,64}", "[a-z0-9]{1,64}", any::<bool>()), 0..5),
            text in "[^<\r][^\r]{0,100}",
        ) {
            let markers: Vec<_> = markers.iter().map(|(id, key, closed)| marker(id, key, *closed)).collect();
            let body = join(&markers, &text);
            prop_assert_eq!(split(&body), (markers, text.as_str()));
        }

        #[test]
        fn any_body_can_be_split(body in any::<String>()) {
            let (markers, text) = split(&body);
            prop_assert!(body.ends_with(text));
            prop_assert!(markers.iter().all(|marker| is_name(&marker.id) && is_name(&marker.key)));
        }
    }
}
