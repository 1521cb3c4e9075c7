//! Parses a message, as strictly as the tests need.

/// A multipart message: the header fields, unfolded, and the decoded bodies.
pub(crate) struct Mail {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) html: String,
}

impl Mail {
    /// The only field of this name.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut found = self
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let (_, value) = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "more than one {name}");
        value
    }
}

/// Reads a message, which has to be ASCII and in lines that end in CRLF.
pub(crate) fn mail_of(message: &[u8]) -> Mail {
    let message = std::str::from_utf8(message).unwrap();
    assert!(message.is_ascii());
    assert_eq!(
        message.matches('\n').count(),
        message.matches("\r\n").count()
    );
    assert_eq!(
        message.matches('\r').count(),
        message.matches("\r\n").count()
    );
    assert!(message.lines().all(|line| line.len() <= 998));
    let (head, body) = message.split_once("\r\n\r\n").unwrap();
    let headers = fields(head);
    let content_type = &headers.iter().find(|(n, _)| n == "Content-Type").unwrap().1;
    let boundary = content_type.split('"').nth(1).unwrap();
    let parts: Vec<_> = body.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 4, "a preamble, two parts and the end");
    assert_eq!(parts[3].trim(), "--");
    Mail {
        text: part(parts[1], "text/plain"),
        html: part(parts[2], "text/html"),
        headers,
    }
}

fn fields(head: &str) -> Vec<(String, String)> {
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let field = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    unfolded.lines().map(field).collect()
}

fn part(part: &str, media_type: &str) -> String {
    let (head, body) = part.trim_start().split_once("\r\n\r\n").unwrap();
    let headers = fields(head);
    let is = |name: &str, value: &str| {
        headers
            .iter()
            .any(|(n, v)| n == name && v.starts_with(value))
    };
    assert!(is("Content-Type", media_type), "{headers:?}");
    assert!(
        is("Content-Transfer-Encoding", "quoted-printable"),
        "{headers:?}"
    );
    decode_quoted_printable(body).replace("\r\n", "\n")
}

fn decode_quoted_printable(text: &str) -> String {
    let joined = text.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if let (b'=', [high, low, tail @ ..]) = (first, tail) {
            let digits = [*high, *low];
            let digits = std::str::from_utf8(&digits).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap()
}
