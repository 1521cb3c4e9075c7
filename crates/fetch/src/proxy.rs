//! Proxy settings: address and credentials.

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
}
