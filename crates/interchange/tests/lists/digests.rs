//! The spellings of digests.

use std::fmt::Write as _;

use proptest::prelude::*;
use urldb_format::{Algorithm, Digest};
use urldb_interchange::digest::{Unknown, like, parse, parse_all};

/// Hexadecimal digits, Nix and subresource integrity of a digest, by an implementation of their own.
fn spellings(algorithm: Algorithm, bytes: &[u8]) -> [(&'static str, String); 7] {
    let hex = hex(bytes);
    let upper = hex.to_uppercase();
    let name = algorithm.name();
    [
        ("hex", hex.clone()),
        ("upper", upper.clone()),
        ("colon", format!("{name}:{hex}")),
        ("equals", format!("{}={upper}", name.to_uppercase())),
        ("nix", nix(bytes)),
        ("named nix", format!("{name}:{}", nix(bytes))),
        ("integrity", format!("{name}-{}?ct=x", base64(bytes))),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The algorithm of Nix: five bits at each position, counted from the first byte, written from the last.
fn nix(bytes: &[u8]) -> String {
    let symbols = b"0123456789abcdfghijklmnpqrsvwxyz";
    let length = (bytes.len() * 8 - 1) / 5 + 1;
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    };
    let symbol = |at: usize| {
        (0..5)
            .map(|it| usize::from(bit(5 * at + it)) << it)
            .sum::<usize>()
    };
    (0..length)
        .rev()
        .map(|at| char::from(symbols[symbol(at)]))
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    let symbols = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |index| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4 {
            let symbol = symbols[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= chunk.len() {
                char::from(symbol)
            } else {
                '='
            });
        }
    }
    text
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

fn digest_of(algorithm: Algorithm, bytes: &[u8; 64]) -> Digest {
    Digest::new(algorithm, &bytes[..algorithm.length()]).unwrap()
}

#[test]
fn the_spellings_of_the_notes_are_read() {
    let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    for text in [
        sha256,
        &sha256.to_uppercase(),
        &format!("sha256:{sha256}"),
        &format!("SHA-256={sha256}"),
        "sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=",
        "sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=?x",
        "00xyyr3fi8l6hb839bv3f7yb86yjv7xi1cgh1xnhipym4asvb4aq",
        "sha256:00xyyr3fi8l6hb839bv3f7yb86yjv7xi1cgh1xnhipym4asvb4aq",
    ] {
        let digest = parse(text, None).unwrap_or_else(|unknown| panic!("{text}: {unknown}"));
        assert_eq!(digest.to_string(), format!("sha256:{sha256}"), "{text}");
    }
    let sha1 = parse("iwjz551fyw0cxcjgf4l6c879zabd6wpm", Some(Algorithm::Sha1)).unwrap();
    assert_eq!(sha1.hex(), "f572d396fae9206628714fb2ce00f72e94f2258f");
    // The reader decides whether 32 characters are an MD5 or the SHA-1 of Nix.
    let either = "0123456789abcdf00123456789abcdf0";
    let found = |assumed| parse(either, assumed).unwrap().algorithm();
    assert_eq!(found(None), Algorithm::Md5);
    assert_eq!(found(Some(Algorithm::Sha1)), Algorithm::Sha1);
    let blake = format!("blake2b:{}", "a".repeat(128));
    assert_eq!(parse("", None), Err(Unknown::Empty));
    assert_eq!(
        parse(&blake, None),
        Err(Unknown::Algorithm("blake2b".to_owned()))
    );
    assert_eq!(parse("to-be-done", None), Err(Unknown::Spelling));
    assert_eq!(
        parse(sha256, Some(Algorithm::Sha512)),
        Err(Unknown::Other(Algorithm::Sha512))
    );
}

#[test]
fn several_values_of_one_algorithm_promise_nothing() {
    let [one, two] = ['a', 'b'].map(|digit| format!("sha256:{}", digit.to_string().repeat(64)));
    let md5 = "c".repeat(32);
    let list = parse_all(&format!(" {one}  {md5} {two} {one} word"));
    assert_eq!(list.ambiguous, [Algorithm::Sha256]);
    assert_eq!(list.unknown, [Unknown::Spelling]);
    let digest = Digest::from_hex(Algorithm::Md5, &*md5).unwrap();
    assert_eq!(list.digests, [(digest, 74..106)]);
}

proptest! {
    #[test]
    fn each_spelling_reads_as_the_same_digest(algorithm in algorithm(), bytes: [u8; 64]) {
        let digest = digest_of(algorithm, &bytes);
        for (spelling, text) in spellings(algorithm, &bytes[..algorithm.length()]) {
            let found = parse(&text, Some(algorithm));
            prop_assert_eq!(found.as_ref(), Ok(&digest), "{} {}", spelling, text);
            if (spelling, algorithm) != ("nix", Algorithm::Sha1) {
                prop_assert_eq!(&parse(&text, None), &Ok(digest.clone()), "{} {}", spelling, text);
            }
        }
    }

    #[test]
    fn a_new_digest_has_the_spelling_of_the_old(algorithm in algorithm(), old: [u8; 64], new: [u8; 64]) {
        let length = algorithm.length();
        let digest = digest_of(algorithm, &new);
        let pairs = spellings(algorithm, &old[..length]).into_iter().zip(spellings(algorithm, &new[..length]));
        for ((spelling, old), (_, new)) in pairs {
            // A digest without letters has no case.
            if old.bytes().any(|byte| byte.is_ascii_alphabetic()) {
                prop_assert_eq!(like(&old, &digest), Some(new), "{}", spelling);
            }
        }
        let (foreign, _) = spellings(algorithm, &old[..length])[0].clone();
        prop_assert_eq!(like(foreign, &digest), None);
    }

    #[test]
    fn any_text_is_a_digest_or_none(text in "\\PC{0,140}|[0-9a-fA-F:=?-]{30,130}|(sha256|md5|x2)[:=-].{0,90}") {
        for assumed in Algorithm::ALL.map(Some).into_iter().chain([None]) {
            if let Ok(digest) = parse(&text, assumed) {
                let new = Digest::new(digest.algorithm(), &vec![7; digest.algorithm().length()]).unwrap();
                if let Some(text) = like(&text, &new) {
                    prop_assert_eq!(parse(&text, Some(digest.algorithm())), Ok(new));
                }
            }
        }
        let list = parse_all(&text);
        for (digest, range) in list.digests {
            prop_assert_eq!(parse(&text[range], None), Ok(digest));
        }
    }
}
