//! The text of values in the JSON of observations.
//!
//! Bytes are text where they are UTF-8, else `{"base64": …}`.

use std::borrow::Cow;

use data_encoding::{BASE64, HEXLOWER};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes as JSON has them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded<'a> {
    Text(Cow<'a, str>),
    Binary { base64: Cow<'a, str> },
}

impl<'a> Encoded<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Binary {
                base64: BASE64.encode(bytes).into(),
            },
        }
    }

    fn decode<E: Error>(self) -> Result<Vec<u8>, E> {
        match self {
            Self::Text(text) => Ok(text.into_owned().into_bytes()),
            Self::Binary { base64 } => BASE64.decode(base64.as_bytes()).map_err(E::custom),
        }
    }
}

/// Whether a value is left out.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

pub(crate) mod bytes {
    use super::{Deserialize, Deserializer, Encoded, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        Encoded::of(bytes).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Encoded::deserialize(from)?.decode()
    }
}

/// Digests as a list of texts such as `md5:d41d…`.
pub(crate) mod digests {
    use urldb_format::{Algorithm, Digest};

    use super::{Deserialize, Deserializer, Error, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(digests: &[Digest], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = digests.iter().map(Digest::to_string).collect();
        texts.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Box<[Digest]>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let digest = |text: &String| {
            let (name, hex) = text.split_once(':')?;
            Digest::from_hex(Algorithm::from_name(name)?, hex)
        };
        texts
            .iter()
            .map(|text| {
                digest(text).ok_or_else(|| D::Error::custom(format!("`{text}` is no digest")))
            })
            .collect()
    }
}

pub(crate) mod optional_bytes {
    use super::{Deserialize, Deserializer, Encoded, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands out references")]
    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(Encoded::of).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        Option::<Encoded<'_>>::deserialize(from)?
            .map(Encoded::decode)
            .transpose()
    }
}

pub(crate) mod optional_hex {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Hex(#[serde(with = "super::hex")] [u8; 32]);

    #[expect(clippy::ref_option, reason = "serde hands out references")]
    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<[u8; 32]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.map(Hex).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<[u8; 32]>, D::Error> {
        Ok(Option::<Hex>::deserialize(from)?.map(|Hex(bytes)| bytes))
    }
}

pub(crate) mod headers {
    use super::{Deserialize, Deserializer, Encoded, Serializer};

    type Headers = Vec<(String, Vec<u8>)>;

    pub(crate) fn serialize<S: Serializer>(
        headers: &[(String, Vec<u8>)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            headers
                .iter()
                .map(|(name, value)| (name, Encoded::of(value))),
        )
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Headers, D::Error> {
        Vec::<(String, Encoded<'_>)>::deserialize(from)?
            .into_iter()
            .map(|(name, value)| Ok((name, value.decode()?)))
            .collect()
    }
}

/// Digests, as lower-case hex.
pub(crate) mod hex {
    use super::{Cow, Deserialize, Deserializer, Error, HEXLOWER, Serializer};

    pub(crate) fn serialize<S: Serializer>(digest: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&HEXLOWER.encode(digest))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let text = Cow::<'_, str>::deserialize(from)?;
        let digest = HEXLOWER.decode(text.as_bytes()).map_err(Error::custom)?;
        let wrong = |_| Error::custom("a digest has 64 digits");
        digest.try_into().map_err(wrong)
    }
}

pub(crate) mod scheme {
    use urldb_canon::Scheme;

    use super::{Cow, Deserialize, Deserializer, Error, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands out references"
    )]
    pub(crate) fn serialize<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(scheme.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scheme, D::Error> {
        match &*Cow::<'_, str>::deserialize(from)? {
            "http" => Ok(Scheme::Http),
            "https" => Ok(Scheme::Https),
            other => Err(Error::custom(format!("{other:?} is no scheme"))),
        }
    }
}

pub(crate) mod request_url {
    use urldb_canon::RequestUrl;

    use super::{Cow, Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(url: &RequestUrl, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(url.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RequestUrl, D::Error> {
        let text = Cow::<'_, str>::deserialize(from)?;
        let wrong = || Error::custom(format!("{text:?} is no URL to request"));
        RequestUrl::from_text(&text).ok_or_else(wrong)
    }
}

/// A shared value, each time in full.
pub(crate) mod shared {
    use std::sync::Arc;

    use super::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize + ?Sized, S: Serializer>(
        value: &Arc<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(to)
    }

    pub(crate) fn deserialize<'de, T: ?Sized, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<T>, D::Error>
    where
        Box<T>: Deserialize<'de>,
    {
        Box::<T>::deserialize(from).map(Arc::from)
    }
}
