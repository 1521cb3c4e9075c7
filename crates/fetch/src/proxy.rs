//! Settings of connections: a proxy, and other addresses for hosts (`--map`).

use std::fmt;
use std::str::FromStr;

use url::Url;

/// An HTTP proxy for all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Address of the proxy.
    pub address: ProxyAddress,
    /// User name for the proxy.
    pub user: Option<String>,
    /// The environment variable that holds the password.
    pub password_env: Option<String>,
}

/// The address of a proxy: a URL of only `http`, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyAddress(Url);

impl ProxyAddress {
    /// The address as a URL.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host of the proxy: a name or an address, without brackets.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl FromStr for ProxyAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let url = Url::parse(text).map_err(|_| ())?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        if url.scheme() == "http" && is_bare && is_anonymous && url.port() != Some(0) {
            Ok(Self(url))
        } else {
            Err(())
        }
    }
}

/// Another address for a host. Requests keep the `Host` header and the SNI of the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The host of the URL, in lower case.
    pub host: String,
    /// The port of the URL; `None` for any port.
    pub port: Option<u16>,
    /// The host to connect to instead: a name or an address, without brackets.
    pub to_host: String,
    /// The port to connect to instead; `None` for the same port.
    pub to_port: Option<u16>,
}

/// The error for a text that is no mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidMapping;

impl fmt::Display for InvalidMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write HOST[:PORT]=HOST[:PORT], such as example.org=127.0.0.1:8080")
    }
}

impl std::error::Error for InvalidMapping {}

impl FromStr for Mapping {
    type Err = InvalidMapping;

    fn from_str(text: &str) -> Result<Self, InvalidMapping> {
        let (from, to) = text.split_once('=').ok_or(InvalidMapping)?;
        let (host, port) = authority(from)?;
        let (to_host, to_port) = authority(to)?;
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port,
            to_host: to_host.to_owned(),
            to_port,
        })
    }
}

/// Host and port of `example.org`, `example.org:80`, `[::1]` or `[::1]:80`.
fn authority(text: &str) -> Result<(&str, Option<u16>), InvalidMapping> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(InvalidMapping)?;
            (
                host,
                after
                    .strip_prefix(':')
                    .or(if after.is_empty() { None } else { Some("?") }),
            )
        }
        None => text
            .split_once(':')
            .map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port
        .map(str::parse::<u16>)
        .transpose()
        .map_err(|_| InvalidMapping)?;
    if host.is_empty() || port == Some(0) {
        Err(InvalidMapping)
    } else {
        Ok((host, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_host_and_a_port() {
        for (text, host) in [
            ("http://127.0.0.1:3128", "127.0.0.1"),
            ("http://proxy.example.org/", "proxy.example.org"),
            ("http://[::1]:8080", "::1"),
        ] {
            let address: ProxyAddress = text.parse().expect(text);
            assert_eq!(address.host(), host);
        }
        for text in [
            "127.0.0.1:3128",
            "socks5://127.0.0.1:1080",
            "https://proxy.example.org",
            "http://me:secret@proxy.example.org",
            "http://proxy.example.org/path",
            "http://proxy.example.org:0",
            "",
        ] {
            assert_eq!(text.parse::<ProxyAddress>(), Err(()), "{text}");
        }
    }

    fn parsed(text: &str) -> Option<(String, Option<u16>, String, Option<u16>)> {
        let mapping: Mapping = text.parse().ok()?;
        Some((mapping.host, mapping.port, mapping.to_host, mapping.to_port))
    }

    #[test]
    fn ports_are_optional_on_both_sides() {
        assert_eq!(
            parsed("A.example=b"),
            Some(("a.example".into(), None, "b".into(), None))
        );
        assert_eq!(
            parsed("a:1=[::1]:2"),
            Some(("a".into(), Some(1), "::1".into(), Some(2)))
        );
        assert_eq!(
            parsed("a=[::1]"),
            Some(("a".into(), None, "::1".into(), None))
        );
    }

    #[test]
    fn an_invalid_mapping_is_an_error() {
        for text in [
            "",
            "a",
            "=",
            "a=",
            "=b",
            "a:x=b",
            "a:0=b",
            "a=b:99999",
            "a=[::1",
            "a=[::1]x",
            "a=b:c:1",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
