//! Signatures of requests: version 4 of AWS, as "Authenticating Requests" of S3 defines it.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use http::header::{AUTHORIZATION, HeaderValue, InvalidHeaderValue};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use url::Url;
use urldb_text::register_secret;

/// The characters that the signature wants escaped: all but letters, digits and these.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// An access key.
#[derive(Clone)]
pub(crate) struct AccessKey {
    id: String,
    secret: String,
    token: Option<String>,
}

impl AccessKey {
    /// Registers the secrets.
    pub(crate) fn new(id: String, secret: String, token: Option<String>) -> Self {
        register_secret(&secret);
        if let Some(token) = &token {
            register_secret(token);
        }
        Self { id, secret, token }
    }

    /// Signs a request to S3, and all of its headers. [`address`] has made its URL.
    ///
    /// # Errors
    /// When the key has characters that no header may have.
    pub(crate) fn sign(
        &self,
        request: &mut http::Request<Bytes>,
        region: &str,
        now: Timestamp,
    ) -> Result<(), InvalidHeaderValue> {
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let digest = HEXLOWER.encode(&Sha256::digest(request.body()));
        let headers = request.headers_mut();
        headers.insert("x-amz-date", HeaderValue::from_str(&time)?);
        headers.insert("x-amz-content-sha256", HeaderValue::from_str(&digest)?);
        if let Some(token) = &self.token {
            headers.insert("x-amz-security-token", HeaderValue::from_str(token)?);
        }
        let (names, text) = canonical(request, &digest);
        let day = &time[..8];
        let scope = format!("{day}/{region}/s3/aws4_request");
        let text = HEXLOWER.encode(&Sha256::digest(text));
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{text}");
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for part in [day, region, "s3", "aws4_request", &text] {
            key = hmac(&key, part);
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            self.id,
            HEXLOWER.encode(&key)
        );
        let authorization = HeaderValue::from_str(&authorization)?;
        request.headers_mut().insert(AUTHORIZATION, authorization);
        Ok(())
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    hmac.update(text.as_bytes());
    hmac.finalize().into_bytes().to_vec()
}

/// The names of the headers, and the text of the request that the signature proves.
fn canonical(request: &http::Request<Bytes>, digest: &str) -> (String, String) {
    let uri = request.uri();
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let mut headers: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
        .chain([("host", host)])
        .collect();
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}:{}", value.trim()))
        .collect();
    let (method, path, query) = (
        request.method(),
        uri.path(),
        uri.query().unwrap_or_default(),
    );
    let headers = headers.join("\n");
    let text = format!("{method}\n{path}\n{query}\n{headers}\n\n{names}\n{digest}");
    (names, text)
}

/// The address of an object, or of the `bucket` if there is no key, with escapes and parameters as the signature
/// has them. `None` if the URL would be that of another object.
pub(crate) fn address(bucket: &Url, key: &str, parameters: &[(&str, &str)]) -> Option<Url> {
    let mut url = bucket.clone();
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    if !key.is_empty() {
        let parts: Vec<String> = key
            .split('/')
            .map(|part| match part {
                "" | "." | ".." => None,
                part => Some(escaped(part)),
            })
            .collect::<Option<_>>()?;
        let base = bucket.path().trim_end_matches('/');
        url.set_path(&format!("{base}/{}", parts.join("/")));
    }
    if !parameters.is_empty() {
        let mut parameters: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
            .collect();
        parameters.sort_unstable();
        url.set_query(Some(&parameters.join("&")));
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the definition, in <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>.
    #[test]
    fn requests_are_signed() {
        let key = AccessKey::new(
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            None,
        );
        let bucket = Url::parse("https://examplebucket.s3.amazonaws.com").expect("a URL");
        let now = "2013-05-24T00:00:00Z".parse().expect("a time");
        for (method, path, parameters, headers, body, signature) in [
            (
                "GET",
                "test.txt",
                &[][..],
                &[("range", "bytes=0-9")][..],
                "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "test$file.text",
                &[],
                &[
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ],
                "Welcome to Amazon S3.",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "",
                &[("lifecycle", "")],
                &[],
                "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                "",
                &[("prefix", "J"), ("max-keys", "2")],
                &[],
                "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let url = address(&bucket, path, parameters).expect("an address");
            let mut request = http::Request::builder().method(method).uri(url.as_str());
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let mut request = request.body(Bytes::from(body)).expect("a request");
            key.sign(&mut request, "us-east-1", now).expect("signed");
            let signed = request.headers()[AUTHORIZATION].to_str().expect("text");
            assert!(signed.ends_with(signature), "{path}: {signed}");
        }
    }

    #[test]
    fn an_address_is_that_of_its_object() {
        let bucket = Url::parse("https://s3.example.org/base/evidence").expect("a URL");
        let of = |key: &str| address(&bucket, key, &[]).map(|url| url.as_str().to_owned());
        let begin = "https://s3.example.org/base/evidence";
        assert_eq!(of(""), Some(begin.to_owned()));
        assert_eq!(
            of("x/a b%2e?=é"),
            Some(format!("{begin}/x/a%20b%252e%3F%3D%C3%A9"))
        );
        for bad in ["..", "x/../../other", "x//y", "./x", "x/"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
