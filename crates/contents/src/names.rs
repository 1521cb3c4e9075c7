//! Names of members.

use crate::refusal::Refusal;

/// The longest name in bytes, as file systems have it.
pub(crate) const LONGEST: usize = 4096;

/// A name as a path: without empty and `.` components, and without a slash at its end.
pub(crate) fn normalized(name: &[u8]) -> Result<Box<[u8]>, Refusal> {
    if name.len() > LONGEST {
        return Err(Refusal::TooLarge("a name"));
    }
    if name.is_empty() {
        return Err(Refusal::Damaged("a member without a name"));
    }
    let mut path = Vec::with_capacity(name.len());
    for component in name.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => return Err(Refusal::Ambiguous("a name with ..")),
            _ => {
                if !path.is_empty() || name[0] == b'/' {
                    path.push(b'/');
                }
                path.extend_from_slice(component);
            }
        }
    }
    if path.is_empty() {
        path.push(if name[0] == b'/' { b'/' } else { b'.' });
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_path_are_one_name() {
        for name in ["a/b", "./a/b", "a//b/", "././a/./b/."] {
            assert_eq!(*normalized(name.as_bytes()).unwrap(), *b"a/b", "{name}");
        }
        for name in ["/a/b", "//a/b/", "/./a//b"] {
            assert_eq!(*normalized(name.as_bytes()).unwrap(), *b"/a/b", "{name}");
        }
        assert_eq!(*normalized(b"./").unwrap(), *b".");
        assert_eq!(*normalized(b"/").unwrap(), *b"/");
        for name in ["", "..", "a/../b"] {
            assert!(normalized(name.as_bytes()).is_err(), "{name}");
        }
        assert!(normalized(&[b'a'; LONGEST + 1]).is_err());
    }
}
