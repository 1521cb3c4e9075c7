//! Members of a tar archive: ustar, the formats of GNU and of POSIX (pax), and the old one.
//!
//! Programs that unpack such archives are lenient. This reader is not: an archive has both blocks of zeros at its end, and
//! nothing after them.

mod header;
mod pax;

use std::io::{self, Read};

pub(crate) use header::BLOCK;
use header::Header;
use pax::Records;

use crate::bounds::Bounds;
use crate::members::{Content, Member, MemberKind, MemberList, Name};
use crate::names;
use crate::refusal::Refusal;
use crate::sink::{FileSink, Wanted};

/// Most bytes of an extended header.
const LONGEST_RECORDS: u64 = 1 << 20;

/// Whether a content with these first bytes is a tar archive.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|block| {
        let header = Header(block);
        !header.is_zero() && header.has_checksum()
    })
}

/// Facts from the headers before a member, which replace its own.
#[derive(Default)]
struct Pending {
    records: Option<Records>,
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.records.is_none() && self.name.is_none() && self.link.is_none()
    }
}

/// A replaced value may stand only once.
fn replace<T>(place: &mut Option<T>, value: T) -> Result<(), Refusal> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refusal::Ambiguous("a value stated twice")),
    }
}

/// Reads a tar archive to its end.
pub(crate) fn members(
    input: &mut impl Read,
    bounds: Bounds,
    wanted: &mut Wanted,
) -> Result<Content, Refusal> {
    let mut list = MemberList::new(bounds);
    let mut pending = Pending::default();
    loop {
        let mut block = [0; BLOCK];
        read_block(input, &mut block)?;
        let header = Header(&block);
        if header.is_zero() {
            break;
        }
        header.check()?;
        match header.kind() {
            b'x' => {
                let records = Records::parse(&extension(input, header)?)?;
                replace(&mut pending.records, records)?;
            }
            b'g' => {
                let records = Records::parse(&extension(input, header)?)?;
                if !records.is_empty() {
                    return Err(Refusal::Unsupported("a global header with values"));
                }
            }
            b'L' => replace(&mut pending.name, long_value(input, header)?)?,
            b'K' => replace(&mut pending.link, long_value(input, header)?)?,
            _ => member(
                input,
                header,
                std::mem::take(&mut pending),
                &mut list,
                wanted,
            )?,
        }
    }
    if !pending.is_empty() {
        return Err(Refusal::Damaged("an extended header without its member"));
    }
    let mut block = [0; BLOCK];
    read_block(input, &mut block)?;
    if !Header(&block).is_zero() {
        return Err(Refusal::Damaged("one block of zeros alone"));
    }
    zeros_to_end(input)?;
    list.finish().map(Content::Archive)
}

fn member(
    input: &mut impl Read,
    header: Header<'_>,
    pending: Pending,
    list: &mut MemberList,
    wanted: &mut Wanted,
) -> Result<(), Refusal> {
    let records = pending.records.unwrap_or_default();
    let mut own = (records.path, pending.name);
    let stated = match &mut own {
        (Some(_), Some(_)) => return Err(Refusal::Ambiguous("a name stated twice")),
        (Some(name), None) | (None, Some(name)) => std::mem::take(name),
        (None, None) => header.name(),
    };
    let link = match (records.link_path, pending.link) {
        (Some(_), Some(_)) => return Err(Refusal::Ambiguous("a link stated twice")),
        (Some(link), None) | (None, Some(link)) => link,
        (None, None) => header.link().to_vec(),
    };
    let size = records.size.map_or_else(|| header.size(), Ok)?;
    let mode = Some(header.mode()?);
    let name = names::normalized(&stated)?;
    let ends_as_folder = stated.ends_with(b"/");
    let kind = header.kind();
    let is_folder = kind == b'5' || (ends_as_folder && matches!(kind, b'0' | 0));
    if size != 0 && (is_folder || !matches!(kind, b'0' | 0)) {
        return Err(Refusal::Ambiguous("a member with bytes that is no file"));
    }
    if ends_as_folder && !is_folder {
        return Err(Refusal::Ambiguous("the name of a folder for another type"));
    }
    if !link.is_empty() && !matches!(kind, b'1' | b'2') {
        return Err(Refusal::Ambiguous("the target of a link for another type"));
    }
    let kind = match kind {
        _ if is_folder => MemberKind::Folder,
        b'0' | 0 => file(input, &name, size, wanted)?,
        b'1' => return list.add_hard_link(name, &names::normalized(&link)?, mode),
        b'2' => {
            let kind = MemberKind::Symlink(checked_link(link)?);
            return list.add(name, Member { kind, mode: None });
        }
        b'3' | b'4' => MemberKind::Device {
            is_block: kind == b'4',
            numbers: header.device_numbers()?,
        },
        b'6' => MemberKind::Fifo,
        _ => return Err(Refusal::Unsupported("a type of member")),
    };
    list.add(name, Member { kind, mode })
}

fn file(
    input: &mut impl Read,
    name: &Name,
    size: u64,
    wanted: &mut Wanted,
) -> Result<MemberKind, Refusal> {
    let mut sink = FileSink::new(wanted, name, Some(size));
    sink.copy(&mut input.take(size))?;
    let (read, sha256) = sink.finish();
    if read != size {
        return Err(Refusal::Damaged("cut in a member"));
    }
    skip_padding(input, size)?;
    Ok(MemberKind::File {
        size,
        sha256,
        links: None,
    })
}

fn checked_link(link: Vec<u8>) -> Result<Name, Refusal> {
    match link.len() {
        0 => Err(Refusal::Damaged("a link without a target")),
        1..=names::LONGEST => Ok(link.into()),
        _ => Err(Refusal::TooLarge("the target of a link")),
    }
}

fn read_block(input: &mut impl Read, block: &mut [u8]) -> Result<(), Refusal> {
    input.read_exact(block).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Refusal::Damaged("cut before its end"),
        _ => error.into(),
    })
}

fn skip_padding(input: &mut impl Read, size: u64) -> Result<(), Refusal> {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    let mut padding = [0; BLOCK];
    match over {
        0 => Ok(()),
        over => read_block(input, &mut padding[over..]),
    }
}

/// The content of a header that belongs to the next one.
fn extension(input: &mut impl Read, header: Header<'_>) -> Result<Vec<u8>, Refusal> {
    let size = header.size()?;
    if size > LONGEST_RECORDS {
        return Err(Refusal::TooLarge("an extended header"));
    }
    let mut content = vec![];
    input.take(size).read_to_end(&mut content)?;
    if content.len() as u64 != size {
        return Err(Refusal::Damaged("cut in an extended header"));
    }
    skip_padding(input, size)?;
    Ok(content)
}

/// A long name of the format of GNU, which ends with a zero byte.
fn long_value(input: &mut impl Read, header: Header<'_>) -> Result<Vec<u8>, Refusal> {
    let mut content = extension(input, header)?;
    if content.last() == Some(&0) {
        content.pop();
    }
    if content.is_empty() || content.contains(&0) {
        return Err(Refusal::Damaged("a long name"));
    }
    Ok(content)
}

/// Programs fill the last record of an archive with zeros.
fn zeros_to_end(input: &mut impl Read) -> Result<(), Refusal> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) if buffer[..read].iter().all(|byte| *byte == 0) => {}
            Ok(_) => return Err(Refusal::Damaged("bytes after its end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
