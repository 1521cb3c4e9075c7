//! A hand-made greeting of TLS (RFC 8446, 4.1.2), which finds out why a server refuses ours.
//!
//! A server that finds no algorithm in common answers with the alert of any other trouble, or closes the connection. So a
//! greeting offers what other programs support too. If the server accepts it, and not one that offers what our library
//! supports, the limit is ours, and its answer or a narrower greeting names it. Nothing else is sent.

use std::io;

use rustls::NamedGroup;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Most bytes of an answer that are read.
const LONGEST_ANSWER: usize = 32 << 10;

/// The public keys in a greeting, so that a server need not ask for one. The handshake never gets so far that a private
/// key is needed. For X25519 the base point, for P-256 the generator.
const X25519_KEY: [u8; 32] = {
    let mut key = [0; 32];
    key[0] = 9;
    key
};
const P256_KEY: [u8; 65] = [
    0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
    0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2,
    0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e,
    0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51,
    0xf5,
];

/// The random number of a `ServerHello` that asks for another key (RFC 8446, 4.1.3).
const RETRY: [u8; 4] = [0xcf, 0x21, 0xad, 0x74];

/// The cipher suites of our library.
const OUR_SUITES: [u16; 9] = [
    0x1301, 0x1302, 0x1303, 0xc02b, 0xc02c, 0xc02f, 0xc030, 0xcca8, 0xcca9,
];

/// Those that other programs support too, as of TLS 1.2: CBC, CCM, and key exchange without forward secrecy or over finite
/// fields.
const OTHER_SUITES: [(u16, &str); 28] = [
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    (0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"),
    (0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM"),
    (0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM"),
    (0xc09f, "TLS_DHE_RSA_WITH_AES_256_CCM"),
    (0xc09c, "TLS_RSA_WITH_AES_128_CCM"),
    (0xc09d, "TLS_RSA_WITH_AES_256_CCM"),
    (0x1304, "TLS_AES_128_CCM_SHA256"),
];

/// The signature algorithms of our library.
const OUR_SIGNATURES: [u16; 9] = [
    0x0403, 0x0503, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601,
];

/// The key exchange groups of our library.
const OUR_GROUPS: [u16; 3] = [29, 23, 24];

/// Further algorithms of other programs: the name, the signature algorithms, the groups.
const OTHERS: [(&str, &[u16], &[u16]); 4] = [
    ("the curve P-521", &[0x0603], &[25]),
    ("Ed448 or X448", &[0x0808], &[30]),
    ("keys for RSA-PSS only", &[0x0809, 0x080a, 0x080b], &[]),
    ("key exchange over finite fields", &[], &[256, 257, 258]),
];

/// The algorithms that a greeting offers.
struct Offer {
    suites: Vec<u16>,
    signatures: Vec<u16>,
    groups: Vec<u16>,
}

/// The answer of a server that goes on with the handshake.
struct Accepted {
    suite: u16,
    /// The group of which the server asks for a key.
    group: Option<u16>,
}

/// The algorithm that a server needs and our library lacks; `None` if this is not why the server refuses a greeting.
/// `connect` makes a new connection to the server for each greeting.
pub(crate) async fn missing_algorithm<S, F, E>(
    host: &str,
    mut connect: impl FnMut() -> F,
) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = Result<S, E>>,
{
    // Without a connection there is no answer, and nothing to conclude.
    let mut ask = async |offer: &Offer| {
        let mut stream = connect().await.ok()?;
        Some(greet(&mut stream, host, offer).await.ok().flatten())
    };
    let all = Offer::with(
        &OTHERS.map(|it| it.1).concat(),
        &OTHERS.map(|it| it.2).concat(),
    );
    let all = Offer {
        suites: [&OUR_SUITES[..], &OTHER_SUITES.map(|it| it.0)].concat(),
        ..all
    };
    let accepted = ask(&all).await??;
    if ask(&Offer::with(&[], &[])).await?.is_some() {
        return None;
    }
    let mut others = OTHER_SUITES.iter();
    if let Some((_, name)) = others.find(|(suite, _)| *suite == accepted.suite) {
        return Some((*name).to_owned());
    }
    if let Some(group) = accepted.group.filter(|group| !OUR_GROUPS.contains(group)) {
        return Some(format!("key exchange with {:?}", NamedGroup::from(group)));
    }
    for (name, signatures, groups) in OTHERS {
        if ask(&Offer::with(signatures, groups)).await?.is_some() {
            return Some(name.to_owned());
        }
    }
    Some("several algorithms".to_owned())
}

impl Offer {
    /// The algorithms of our library, and these.
    fn with(signatures: &[u16], groups: &[u16]) -> Self {
        Self {
            suites: OUR_SUITES.to_vec(),
            signatures: [&OUR_SIGNATURES[..], signatures].concat(),
            groups: [&OUR_GROUPS[..], groups].concat(),
        }
    }

    /// The greeting as one record.
    fn record(&self, host: &str) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([0x55; 32]);
        body.extend(short(&[0x55; 32]));
        body.extend(long(&numbers(&self.suites)));
        body.extend([1, 0]);
        let keys = [
            [29_u16.to_be_bytes().to_vec(), long(&X25519_KEY)].concat(),
            [23_u16.to_be_bytes().to_vec(), long(&P256_KEY)].concat(),
        ];
        let mut extensions = vec![
            (10, long(&numbers(&self.groups))),
            (11, short(&[0])),
            (13, long(&numbers(&self.signatures))),
            (16, long(&short(b"http/1.1"))),
            (23, vec![]),
            (43, short(&[3, 4, 3, 3])),
            (45, short(&[1])),
            (51, long(&keys.concat())),
            (0xff01, vec![0]),
        ];
        // An address is no name of a server (RFC 6066, 3).
        if host.contains(|char: char| char.is_ascii_alphabetic()) && !host.contains(':') {
            let name = [vec![0], long(host.as_bytes())].concat();
            extensions.push((0, long(&name)));
        }
        let extensions: Vec<u8> = extensions
            .into_iter()
            .flat_map(|(kind, content)| [u16::to_be_bytes(kind).to_vec(), long(&content)].concat())
            .collect();
        body.extend(long(&extensions));
        let message = [vec![1, 0], long(&body)].concat();
        [vec![22, 3, 1], long(&message)].concat()
    }
}

/// The bytes after their length in one byte.
fn short(bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    [&[length], bytes].concat()
}

/// The bytes after their length in two bytes.
fn long(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
}

/// Sends a greeting, and reads whether the server accepts it.
async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
    offer: &Offer,
) -> io::Result<Option<Accepted>> {
    stream.write_all(&offer.record(host)).await?;
    let mut message = Vec::new();
    let mut read = 0;
    while read < LONGEST_ANSWER {
        let mut head = [0; 5];
        stream.read_exact(&mut head).await?;
        let [kind, _, _, high, low] = head;
        let mut content = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        stream.read_exact(&mut content).await?;
        read += head.len() + content.len();
        match (kind, content.first()) {
            // A warning is no refusal (RFC 5246, 7.2).
            (21, Some(1)) => {}
            (22, _) => message.extend(content),
            _ => return Ok(None),
        }
        if let Some(answer) = complete(&message) {
            return Ok(accepted(answer));
        }
    }
    Ok(None)
}

/// The content of a first message that has come whole; empty if it is no `ServerHello`.
fn complete(message: &[u8]) -> Option<&[u8]> {
    let (head, rest) = message.split_at_checked(4)?;
    let &[kind, high, middle, low] = head else {
        return None;
    };
    let length = usize::try_from(u32::from_be_bytes([0, high, middle, low])).ok()?;
    match kind {
        2 => rest.get(..length),
        _ => Some(&[]),
    }
}

/// Reads a `ServerHello`; `None` if it is none, or for a version before 1.2.
fn accepted(hello: &[u8]) -> Option<Accepted> {
    let mut rest = Rest(hello);
    let version = rest.number()?;
    let random = rest.take(32)?;
    let session = rest.take(1)?[0];
    rest.take(session.into())?;
    let suite = rest.number()?;
    if version < 0x0303 {
        return None;
    }
    let is_retry = random.starts_with(&RETRY);
    let mut group = None;
    rest.take(3);
    while let Some(kind) = rest.number() {
        let length = rest.number()?;
        let content = rest.take(length.into())?;
        if kind == 51 && is_retry {
            group = Rest(content).number();
        }
    }
    Some(Accepted { suite, group })
}

/// The bytes of a message that are not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustls::SignatureScheme;

    use super::*;

    #[test]
    fn the_lists_are_those_of_the_library() {
        let ours = rustls::crypto::ring::default_provider();
        let suites: Vec<u16> = ours
            .cipher_suites
            .iter()
            .map(|it| it.suite().into())
            .collect();
        assert!(suites.iter().all(|suite| OUR_SUITES.contains(suite)));
        assert_eq!(suites.len(), OUR_SUITES.len());
        let groups: Vec<u16> = ours.kx_groups.iter().map(|it| it.name().into()).collect();
        assert_eq!(groups, OUR_GROUPS);
        let schemes = ours.signature_verification_algorithms.supported_schemes();
        let mut schemes: Vec<u16> = schemes.into_iter().map(u16::from).collect();
        let mut signatures = OUR_SIGNATURES;
        schemes.sort_unstable();
        signatures.sort_unstable();
        assert_eq!(schemes, signatures);
        let others = OTHERS.iter().flat_map(|it| it.1);
        for scheme in others.map(|it| SignatureScheme::from(*it)) {
            assert!(!format!("{scheme:?}").starts_with("Unknown"), "{scheme:?}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read(message in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = complete(&message);
            let _ = accepted(&message);
        }
    }
}
