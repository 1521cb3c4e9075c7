//! The members of an archive, by name.

use std::collections::BTreeMap;

use crate::bounds::Bounds;
use crate::refusal::Refusal;

pub(crate) type Name = Box<[u8]>;

/// The type of a member, with the facts that count for this type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemberKind {
    File {
        size: u64,
        sha256: [u8; 32],
        /// The first name, in alphabetical order, of the hard links to one file; absent for a file with one name.
        links: Option<Name>,
    },
    Folder,
    Symlink(Name),
    Fifo,
    Device {
        is_block: bool,
        numbers: (u64, u64),
    },
}

/// A member, without times and owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) kind: MemberKind,
    /// The permissions, if the archive has them; absent for symbolic links, whose permissions mean nothing.
    pub(crate) mode: Option<u32>,
}

impl Member {
    pub(crate) fn is_folder(&self) -> bool {
        self.kind == MemberKind::Folder
    }
}

/// An unpacked content.
pub(crate) enum Content {
    /// The SHA-256 of a single compressed file.
    File([u8; 32]),
    Archive(BTreeMap<Name, Member>),
}

/// Collects the members of an archive, and refuses archives whose unpacked files depend on the order of members.
#[derive(Debug)]
pub(crate) struct MemberList {
    bounds: Bounds,
    members: BTreeMap<Name, Member>,
    /// The names of each file with hard links, by the name of the member with the content.
    links: BTreeMap<Name, Vec<Name>>,
    /// The member with the content, by the name of a hard link.
    targets: BTreeMap<Name, Name>,
    read: usize,
    name_bytes: usize,
    repeated: bool,
}

impl MemberList {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            members: BTreeMap::new(),
            links: BTreeMap::new(),
            targets: BTreeMap::new(),
            read: 0,
            name_bytes: 0,
            repeated: false,
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.read += 1;
        self.name_bytes += bytes;
        if self.read > self.bounds.members {
            return Err(Refusal::TooLarge("members"));
        }
        if self.name_bytes > self.bounds.names {
            return Err(Refusal::TooLarge("names"));
        }
        Ok(())
    }

    /// Adds a member. The same member twice is one.
    pub(crate) fn add(&mut self, name: Name, member: Member) -> Result<(), Refusal> {
        let target = match &member.kind {
            MemberKind::Symlink(target) => target.len(),
            _ => 0,
        };
        self.count(name.len() + target)?;
        match self.members.get(&name) {
            Some(known) if *known != member => Err(Refusal::Ambiguous("two members with one name")),
            Some(known) => {
                self.repeated |= !known.is_folder();
                Ok(())
            }
            None => {
                self.members.insert(name, member);
                Ok(())
            }
        }
    }

    /// Adds a hard link to a file that stands before it.
    pub(crate) fn add_hard_link(
        &mut self,
        name: Name,
        target: &Name,
        mode: Option<u32>,
    ) -> Result<(), Refusal> {
        // The name is stored four times.
        self.count(4 * name.len() + target.len())?;
        let first = self.targets.get(target).unwrap_or(target).clone();
        let Some(file) = self.members.get(&first) else {
            return Err(Refusal::Ambiguous("a hard link to no member before it"));
        };
        if !matches!(file.kind, MemberKind::File { .. }) || file.mode != mode {
            return Err(Refusal::Ambiguous("a hard link to another type of member"));
        }
        let member = file.clone();
        if self.members.insert(name.clone(), member).is_some() {
            return Err(Refusal::Ambiguous(
                "a hard link with the name of another member",
            ));
        }
        self.targets.insert(name.clone(), first.clone());
        self.links.entry(first).or_default().push(name);
        Ok(())
    }

    /// The members, once all are known.
    pub(crate) fn finish(mut self) -> Result<BTreeMap<Name, Member>, Refusal> {
        if self.repeated && !self.links.is_empty() {
            return Err(Refusal::Ambiguous("a repeated member beside hard links"));
        }
        for (first, mut names) in self.links {
            names.push(first);
            let Some(smallest) = names.iter().min().cloned() else {
                continue;
            };
            for name in names {
                if let Some(Member {
                    kind: MemberKind::File { links, .. },
                    ..
                }) = self.members.get_mut(&name)
                {
                    *links = Some(smallest.clone());
                }
            }
        }
        for (name, member) in &self.members {
            if !member.is_folder() && is_implied(&self.members, name) {
                return Err(Refusal::Ambiguous("a member below one that is no folder"));
            }
        }
        if self.members.values().all(Member::is_folder) {
            return Err(Refusal::Empty);
        }
        Ok(self.members)
    }
}

/// Whether members stand below this name, which is thus a folder.
pub(crate) fn is_implied(members: &BTreeMap<Name, Member>, name: &[u8]) -> bool {
    match name {
        b"." => return members.keys().any(|name| name[0] != b'/'),
        b"/" => return members.keys().any(|name| name[0] == b'/'),
        _ => {}
    }
    let below: Name = [name, b"/"].concat().into();
    members
        .range(below.clone()..)
        .next()
        .is_some_and(|(name, _)| name.starts_with(&below))
}
