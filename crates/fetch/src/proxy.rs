//! Settings of connections: a proxy, and other addresses for hosts (`--map`).

use std::str::FromStr;

use url::{Host, Url};

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
        self.0
            .host_str()
            .unwrap_or_default()
            .trim_start_matches('[')
            .trim_end_matches(']')
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
    /// The host of the URL: a name in lower case or an address, without brackets and final dot.
    pub host: String,
    /// The port of the URL; `None` for any port.
    pub port: Option<u16>,
    /// The host to connect to instead: a name or an address, without brackets.
    pub to_host: String,
    /// The port to connect to instead; `None` for the same port.
    pub to_port: Option<u16>,
}

impl Mapping {
    /// The mapping for requests to a URL. One with a port wins; among equals the first, so `--map` wins over urldb.toml.
    pub fn of<'a>(mappings: &'a [Self], url: &Url) -> Option<&'a Self> {
        let (host, port) = (host_name(url.host_str()?), url.port_or_known_default());
        mappings
            .iter()
            .filter(|it| it.host == host)
            .filter(|it| it.port.is_none() || it.port == port)
            .min_by_key(|it| it.port.is_none())
    }

    /// The mapping as curl takes it behind `--connect-to`: `example.org::127.0.0.1:8080`.
    pub fn connect_to(&self) -> String {
        let [from, to] = [self.port, self.to_port]
            .map(|port| port.map_or_else(String::new, |port| port.to_string()));
        let to_host = bracketed(&self.to_host);
        format!("{}:{from}:{to_host}:{to}", self.host)
    }
}

/// The error for a text that is no mapping.
const NO_MAPPING: &str = "write HOST[:PORT]=HOST[:PORT], such as example.org=127.0.0.1:8080";

impl FromStr for Mapping {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, to) = text.split_once('=').ok_or(NO_MAPPING)?;
        let (host, port) = authority(from)?;
        let (to_host, to_port) = authority(to)?;
        Ok(Self {
            host: host_name(host),
            port,
            to_host: host_name(to_host),
            to_port,
        })
    }
}

/// Host and port of `example.org`, `example.org:80`, `[::1]` or `[::1]:80`.
fn authority(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, after) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(NO_MAPPING)?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let number = |port: &str| port.strip_prefix(':')?.parse::<u16>().ok();
    let port = match after {
        "" => None,
        _ => Some(number(after).ok_or(NO_MAPPING)?),
    };
    if host.is_empty() || port == Some(0) {
        Err(NO_MAPPING)
    } else {
        Ok((host, port))
    }
}

/// The normalized host name for comparison with mappings: ASCII, lower case, without brackets and
/// final dot.
pub(crate) fn host_name(host: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    match Host::parse(&bracketed(bare)) {
        Ok(Host::Ipv6(address)) => address.to_string(),
        Ok(host) => host.to_string(),
        Err(_) => bare.to_ascii_lowercase(),
    }
}

/// A host as URLs have it: an IPv6 address in brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
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

    #[test]
    fn the_host_of_a_url_is_found_as_mappings_spell_it() {
        for host in [
            "A.Example.ORG",
            "a.test.",
            "m\u{fc}nchen.test",
            "127.0.0.1",
            "0x7f.1",
            "[::1]",
        ] {
            let url = Url::parse(&format!("http://{host}:8080/")).unwrap();
            assert_eq!(
                host_name(url.host_str().unwrap()),
                host_name(host),
                "{host}"
            );
        }
    }
}
