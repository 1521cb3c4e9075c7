//! Finds the program of a plugin.
#![expect(
    clippy::disallowed_methods,
    reason = "looks for programs on the user's PATH"
)]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of the first line of a script that are read; Linux reads 256.
const LONGEST_FIRST_LINE: u64 = 4096;

/// There is no such program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No folder of PATH has the program.
    #[error("there is no program {0} on PATH that may be executed")]
    NotOnPath(String),
    /// The path leads to no file that can be run.
    #[error("{0} is no program: it is missing, or may not be executed, which `chmod +x` permits")]
    NoProgram(PathBuf),
}

/// The program of this name: a path with `/` relative to `root`, else a file in the folders of `path`, the
/// value of PATH. Folders that are no absolute path are skipped, since their meaning depends on the
/// current directory.
///
/// # Errors
/// When there is no such program.
pub fn find(name: &str, root: &Path, path: Option<&OsStr>) -> Result<PathBuf, Error> {
    if Path::new(name).components().count() > 1 {
        // The working directory of the plugin must not change the meaning of the path.
        let program = root.join(name);
        let program = std::path::absolute(&program).unwrap_or(program);
        return if is_program(&program) {
            Ok(program)
        } else {
            Err(Error::NoProgram(program))
        };
    }
    path.iter()
        .flat_map(|path| env::split_paths(path))
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| !name.is_empty() && is_program(program))
        .ok_or_else(|| Error::NotOnPath(name.to_owned()))
}

/// The fault in the first line of a script whose interpreter the system does not find.
pub(crate) fn first_line_fault(program: &Path) -> Option<String> {
    let mut line = String::new();
    let file = fs::File::open(program).ok()?.take(LONGEST_FIRST_LINE);
    BufReader::new(file).read_line(&mut line).ok()?;
    let interpreter = line.strip_prefix("#!")?.split_whitespace().next()?;
    if line.ends_with("\r\n") {
        return Some("its first line ends with a carriage return (CRLF): save the file with the line ends of Unix (LF)".to_owned());
    }
    (!Path::new(interpreter).exists()).then(|| {
        format!("its first line names {interpreter}, which is not on this machine: install it, or correct the line")
    })
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let is_executable =
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let is_executable = true;
    metadata.is_file() && is_executable
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_is_on_path_or_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for (name, mode) in [("plugin", 0o755), ("notes", 0o644)] {
            let file = bin.join(name);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = env::join_paths([Path::new("."), Path::new(""), &bin]).unwrap();
        let find_here = |name| find(name, folder.path(), Some(&path));
        assert_eq!(find_here("plugin").unwrap(), bin.join("plugin"));
        assert_eq!(find_here("bin/plugin").unwrap(), bin.join("plugin"));
        assert_eq!(
            find_here("./bin/plugin").unwrap().canonicalize().unwrap(),
            bin.join("plugin").canonicalize().unwrap()
        );
        assert_eq!(
            find_here("notes").unwrap_err().to_string(),
            "there is no program notes on PATH that may be executed"
        );
        assert!(matches!(find_here("bin/notes"), Err(Error::NoProgram(_))));
        assert!(matches!(find_here("bin"), Err(Error::NotOnPath(_))));
        assert!(matches!(find_here(""), Err(Error::NotOnPath(_))));
        assert!(matches!(
            find("plugin", &bin, Some(OsStr::new("."))),
            Err(Error::NotOnPath(_))
        ));
    }
}
