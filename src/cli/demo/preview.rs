//! `--serve`: the status site that the demo has built, on a loopback port.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use super::site::{Response, listen};

/// The type of a file by the end of its name.
const TYPES: [(&str, &str); 6] = [
    (".html", "text/html; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".svg", "image/svg+xml"),
    (".json", "application/json"),
    (".xml", "application/atom+xml; charset=utf-8"),
];

/// Serves the files that are below the folder now, until the process ends.
///
/// # Errors
/// When the folder cannot be read, or there is no free port.
pub(super) fn serve(folder: &Path) -> io::Result<SocketAddr> {
    let mut files = BTreeMap::new();
    for name in names(folder)? {
        let kind = TYPES
            .iter()
            .find(|(end, _)| name.ends_with(end))
            .map_or("text/plain; charset=utf-8", |(_, kind)| kind);
        files.insert(format!("/{name}"), (kind, fs::read(folder.join(&name))?));
    }
    // A request names a key of the map: nothing else of the machine can be asked for.
    listen(move |path| {
        let path = path.split('?').next().unwrap_or_default();
        let path = if path.ends_with('/') {
            format!("{path}index.html")
        } else {
            path.to_owned()
        };
        match files.get(&path) {
            Some((kind, body)) => Response::Page(kind, body.clone()),
            None => Response::NotFound,
        }
    })
}

/// The files below the folder, relative to it with `/`, sorted.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = vec![];
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(name + "/");
            } else if !entry.file_name().to_string_lossy().starts_with('.') {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}
