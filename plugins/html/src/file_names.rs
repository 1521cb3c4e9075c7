//! File names of pages: of hosts, URLs, and pages with a number.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The file name of the page of a host, without folder; `page` counts from 1.
pub(crate) fn host_page(host: &str, page: usize) -> String {
    numbered(&host_name(host), page)
}

/// The name of the list of all hosts, in their folder.
pub(crate) const HOST_LIST: &str = "index";

/// The name of a host in file names, without extension. Each host has another name.
pub(crate) fn host_name(host: &str) -> String {
    // A host has no tilde.
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
    let is_name = host.len() <= 200 && !host.starts_with('.') && host.bytes().all(is_plain);
    if is_name && !host.is_empty() && host != HOST_LIST {
        host.to_owned()
    } else {
        format!("~{}", HEXLOWER.encode(&Sha256::digest(host)))
    }
}

/// The file name of one of several pages; `page` counts from 1.
pub(crate) fn numbered(name: &str, page: usize) -> String {
    match page {
        1 => format!("{name}.html"),
        page => format!("{name}~{page}.html"),
    }
}

/// The page of a URL, relative to the folder of such pages: by a digest, since a URL may be longer than a
/// file name, or differ from another only by case.
pub(crate) fn url_page(url: &str, request: Option<&str>, variant: Option<&str>) -> String {
    let mut name = format!("{url} {}", request.unwrap_or_default());
    if let Some(variant) = variant {
        name.push('\n');
        name.push_str(variant);
    }
    let digest = HEXLOWER.encode(&Sha256::digest(name));
    format!("{}/{}.html", &digest[..2], &digest[2..18])
}
