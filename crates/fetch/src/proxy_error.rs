//! Errors that our own proxy reports in an answer of its own: it got none from the server.
//!
//! Squid names them in `X-Squid-Error`, other proxies in `Proxy-Status` (RFC 9209, section 2.1).

use hyper::StatusCode;
use hyper::header::HeaderMap;
use urldb_verdict::{Failure, FailureKind, outside_quotes};

/// Longest name of an error, in bytes. Names of proxies are shorter.
const LONGEST: usize = 60;

/// The failure that the proxy reports; `None` if the answer is that of the server, or of a kind that no table has.
pub(crate) fn reported(status: StatusCode, headers: &HeaderMap) -> Option<Failure> {
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let squid = text("x-squid-error").and_then(|text| text.split_ascii_whitespace().next());
    // The proxy that is closest to us adds the last member, in the last header.
    let standard = headers
        .get_all("proxy-status")
        .iter()
        .next_back()
        .and_then(|value| error_of(value.to_str().ok()?));
    let of_squid = squid.and_then(|name| Some((squid_kind(name)?, name)));
    let of_standard = standard.and_then(|name| Some((standard_kind(name)?, name)));
    let (kind, name) = of_squid.or(of_standard)?;
    let detail = if kind == FailureKind::Refused {
        format!("our proxy refuses the request: {name}")
    } else {
        format!("our proxy got no answer from the server: {name}")
    };
    Some(Failure {
        kind,
        detail,
        certificate: None,
    })
}

/// The parameter `error` of the last member of a list.
fn error_of(list: &str) -> Option<&str> {
    let member = *outside_quotes(list, ',').last()?;
    let error = outside_quotes(member, ';')
        .iter()
        .skip(1)
        .filter_map(|parameter| parameter.trim().strip_prefix("error="))
        .next_back()?
        .trim_end();
    let is_token = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    (error.len() <= LONGEST && error.chars().all(is_token)).then_some(error)
}

/// The names of Squid's error pages about requests that it could not answer.
fn squid_kind(name: &str) -> Option<FailureKind> {
    Some(match name {
        "ERR_DNS_FAIL" => FailureKind::Dns,
        "ERR_CONNECT_FAIL" | "ERR_CANNOT_FORWARD" => FailureKind::Connect,
        "ERR_SECURE_CONNECT_FAIL" => FailureKind::Tls,
        "ERR_READ_TIMEOUT" | "ERR_LIFETIME_EXP" => FailureKind::Timeout,
        "ERR_READ_ERROR" | "ERR_WRITE_ERROR" | "ERR_ZERO_SIZE_OBJECT" => FailureKind::Disconnected,
        "ERR_INVALID_RESP" => FailureKind::Protocol,
        "ERR_ACCESS_DENIED" | "ERR_FORWARDING_DENIED" | "ERR_TOO_BIG" | "ERR_SHUTTING_DOWN" => {
            FailureKind::Refused
        }
        _ => return None,
    })
}

/// The error types of RFC 9209, section 2.3.
fn standard_kind(name: &str) -> Option<FailureKind> {
    Some(match name {
        "dns_timeout" | "dns_error" => FailureKind::Dns,
        "destination_not_found"
        | "destination_unavailable"
        | "destination_ip_unroutable"
        | "connection_refused" => FailureKind::Connect,
        "connection_timeout"
        | "connection_read_timeout"
        | "connection_write_timeout"
        | "http_response_timeout" => FailureKind::Timeout,
        "connection_terminated" | "http_response_incomplete" => FailureKind::Disconnected,
        "tls_protocol_error" | "tls_certificate_error" | "tls_alert_received" => FailureKind::Tls,
        "http_protocol_error" => FailureKind::Protocol,
        "destination_ip_prohibited"
        | "connection_limit_reached"
        | "http_request_denied"
        | "proxy_internal_error"
        | "proxy_configuration_error"
        | "proxy_loop_detected" => FailureKind::Refused,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn kind(status: u16, headers: &[(&str, &str)]) -> Option<FailureKind> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        reported(StatusCode::from_u16(status).unwrap(), &map).map(|failure| failure.kind)
    }

    #[test]
    fn an_error_of_the_proxy_is_what_it_reports() {
        for (status, name, value, expected) in [
            (
                503,
                "X-Squid-Error",
                "ERR_DNS_FAIL 0",
                Some(FailureKind::Dns),
            ),
            (
                503,
                "X-Squid-Error",
                "ERR_CONNECT_FAIL 111",
                Some(FailureKind::Connect),
            ),
            (
                504,
                "X-Squid-Error",
                "ERR_READ_TIMEOUT 0",
                Some(FailureKind::Timeout),
            ),
            (
                403,
                "X-Squid-Error",
                "ERR_ACCESS_DENIED 0",
                Some(FailureKind::Refused),
            ),
            // Names that no table has.
            (503, "X-Squid-Error", "ERR_OF_THE_FUTURE 0", None),
            (503, "X-Squid-Error", "", None),
            // The status says that the server answered.
            (200, "X-Squid-Error", "ERR_DNS_FAIL 0", None),
            (304, "Proxy-Status", "p; error=dns_error", None),
            (
                502,
                "Proxy-Status",
                "p; error=dns_error",
                Some(FailureKind::Dns),
            ),
            (
                504,
                "Proxy-Status",
                "p;error=connection_timeout",
                Some(FailureKind::Timeout),
            ),
            (
                502,
                "Proxy-Status",
                r#"origin; error=dns_error, "p, q"; details="a \"; error=dns_error"; error=connection_refused"#,
                Some(FailureKind::Connect),
            ),
            // The last member, that of our proxy, has no error.
            (
                502,
                "Proxy-Status",
                "cdn; error=dns_error, p; received-status=502",
                None,
            ),
            (
                502,
                "Proxy-Status",
                r#"p; details="x; error=dns_error""#,
                None,
            ),
            (502, "Proxy-Status", "p; error=\"dns_error\"", None),
        ] {
            assert_eq!(
                kind(status, &[(name, value)]),
                expected,
                "{status} {name}: {value}"
            );
        }
        let several = [
            ("Proxy-Status", "cdn; error=dns_error"),
            ("Proxy-Status", "p; error=connection_timeout"),
        ];
        assert_eq!(kind(502, &several), Some(FailureKind::Timeout));
        assert_eq!(kind(502, &several[..0]), None);
    }
}
