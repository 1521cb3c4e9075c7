//! The list of all hosts, by first letters, and the names for its search.

use std::collections::BTreeMap;

use serde::Serialize;
use urldb_protocol::HostOverview;
use urldb_render::numbers::{counted, number, shares};
use urldb_render::{shown_host, site_headline};

use super::values::Time;
use super::{Frame, Views};
use crate::file_names::{HOST_LIST, host_page, numbered};

/// Most hosts on a page of the list.
pub(crate) const MOST_NAMES: usize = 1_500;

/// Fewest hosts that letters divide: of fewer, a list without headings is read sooner.
const FEWEST_BY_LETTER: usize = 40;

/// Most bytes of the cards of a page.
const MOST_BYTES: usize = 280_000;

/// Bytes of a card beside the names of the host and of its page.
const CARD_BYTES: usize = 110;

/// A page of the list.
#[derive(Debug, Serialize)]
pub(crate) struct HostsPage {
    pub(crate) frame: Frame,
    headline: String,
    as_of: Option<Time>,
    total: String,
    /// The list has several pages, and the search reads the names of all hosts from a script.
    is_divided: bool,
    /// The letters of the list, with links.
    letters: Vec<LetterLink>,
    /// The hosts of the page.
    groups: Vec<LetterGroup>,
    /// The pages of the letter, if it has several.
    parts: Vec<PartLink>,
}

/// A link to the hosts with one first letter.
#[derive(Debug, Clone, Serialize)]
struct LetterLink {
    letter: &'static str,
    /// A page, or a place on this page.
    link: String,
    /// `4,210 hosts, 3 with broken promises`
    note: String,
    is_current: bool,
}

/// Hosts with one first letter, or all.
#[derive(Debug, Serialize)]
struct LetterGroup {
    /// Empty for all.
    letter: &'static str,
    /// The name of the letter in addresses.
    id: &'static str,
    hosts: Vec<HostCard>,
}

/// A host in the list.
#[derive(Debug, Serialize)]
struct HostCard {
    class: &'static str,
    name: String,
    page: String,
    note: String,
}

/// A link to another page of a letter, with its first host.
#[derive(Debug, Clone, Serialize)]
struct PartLink {
    first: String,
    page: String,
    is_current: bool,
}

/// The hosts of one letter.
struct HostsOfLetter<'a> {
    letter: &'static str,
    id: &'static str,
    hosts: Vec<&'a HostOverview>,
}

impl Views<'_> {
    /// The pages of the list, each with its file name: one page with all hosts, or a page of the letters and one or
    /// more of each letter. `most` hosts are on a page.
    pub(crate) fn hosts_pages(&self, most: usize) -> Vec<(String, HostsPage)> {
        let letters = letters(&self.overview.hosts);
        let first = numbered(HOST_LIST, 1);
        let all: Vec<&HostOverview> = self.overview.hosts.iter().collect();
        if all.len() < FEWEST_BY_LETTER.min(most) {
            let group = LetterGroup {
                letter: "",
                id: "",
                hosts: all.iter().map(|host| self.host_card(host)).collect(),
            };
            let page = HostsPage {
                groups: vec![group],
                ..self.list_page(false)
            };
            return vec![(first, page)];
        }
        if parts(&all, most).len() == 1 {
            let links = letters
                .iter()
                .map(|it| self.letter_link(it, format!("#{}", it.id)));
            let page = HostsPage {
                letters: links.collect(),
                groups: letters.iter().map(|it| self.group(it, &it.hosts)).collect(),
                ..self.list_page(false)
            };
            return vec![(first, page)];
        }
        let name = |letter: &HostsOfLetter<'_>| format!("{HOST_LIST}~{}", letter.id);
        let links: Vec<LetterLink> = letters
            .iter()
            .map(|it| self.letter_link(it, numbered(&name(it), 1)))
            .collect();
        let index = HostsPage {
            letters: links.clone(),
            ..self.list_page(true)
        };
        let mut pages = vec![(first, index)];
        for letter in &letters {
            let parts = parts(&letter.hosts, most);
            let part_links = part_links(&parts, &name(letter));
            for (hosts, number) in parts.iter().zip(1..) {
                let mut links = links.clone();
                for link in &mut links {
                    link.is_current = link.letter == letter.letter;
                }
                let mut parts = part_links.clone();
                for (part, index) in parts.iter_mut().zip(1..) {
                    part.is_current = index == number;
                }
                let page = HostsPage {
                    letters: links,
                    groups: vec![self.group(letter, hosts)],
                    parts,
                    ..self.list_page(true)
                };
                pages.push((numbered(&name(letter), number), page));
            }
        }
        pages
    }

    /// The script with the name of each host, for the search: a page that is opened as a file can load a script, and
    /// no other text. A host whose page is named otherwise comes with the page.
    pub(crate) fn host_names_script(&self) -> String {
        let text = |host: &HostOverview| {
            let (name, page) = (shown_host(&host.host), host_page(&host.host, 1));
            let text = if page == format!("{name}.html") {
                serde_json::to_string(&name)
            } else {
                serde_json::to_string(&(name, page))
            };
            text.unwrap_or_default()
        };
        let names: Vec<String> = self.overview.hosts.iter().map(text).collect();
        format!(
            "\"use strict\";\nself.urldbHosts = [\n{}\n];\n",
            names.join(",\n")
        )
    }

    /// A page without hosts.
    fn list_page(&self, is_divided: bool) -> HostsPage {
        let overview = self.overview;
        let (mark, headline) = site_headline(overview);
        HostsPage {
            frame: self.frame("Hosts", mark, "../", "hosts"),
            headline,
            as_of: self.as_of().map(Time::moment),
            total: number(overview.hosts.len() as u64),
            is_divided,
            letters: vec![],
            groups: vec![],
            parts: vec![],
        }
    }

    fn letter_link(&self, letter: &HostsOfLetter<'_>, link: String) -> LetterLink {
        let hosts = counted(letter.hosts.len() as u64, "host");
        let broken = letter
            .hosts
            .iter()
            .map(|host| self.host_state(host))
            .filter(|(class, _)| *class == "b")
            .count() as u64;
        LetterLink {
            letter: letter.letter,
            link,
            note: match broken {
                0 => hosts,
                some => format!("{hosts}, {} with broken promises", number(some)),
            },
            is_current: false,
        }
    }

    fn group(&self, letter: &HostsOfLetter<'_>, hosts: &[&HostOverview]) -> LetterGroup {
        LetterGroup {
            letter: letter.letter,
            id: letter.id,
            hosts: hosts.iter().map(|host| self.host_card(host)).collect(),
        }
    }

    fn host_card(&self, host: &HostOverview) -> HostCard {
        let (class, _) = self.host_state(host);
        let note = if self.is_impaired(host) {
            "not known".to_owned()
        } else {
            shares(&host.counts)
        };
        HostCard {
            class,
            name: shown_host(&host.host),
            page: host_page(&host.host, 1),
            note,
        }
    }
}

/// The letters of the first characters of hosts, digits and others at the end.
fn letters(hosts: &[HostOverview]) -> Vec<HostsOfLetter<'_>> {
    const NAMES: &str = "abcdefghijklmnopqrstuvwxyz";
    let mut letters: BTreeMap<(u8, &'static str), HostsOfLetter<'_>> = BTreeMap::new();
    for host in hosts {
        let first = host.host.chars().next().map(|it| it.to_ascii_lowercase());
        let letter = first.and_then(|first| NAMES.find(first));
        let (rank, letter, id) = match (letter, first) {
            (Some(at), _) => (0, &NAMES[at..=at], &NAMES[at..=at]),
            (None, Some('0'..='9')) => (1, "0–9", "digits"),
            (None, _) => (2, "others", "others"),
        };
        letters
            .entry((rank, letter))
            .or_insert_with(|| HostsOfLetter {
                letter,
                id,
                hosts: vec![],
            })
            .hosts
            .push(host);
    }
    letters.into_values().collect()
}

/// The hosts of each page: at most so many, and fewer if their names are long. One page at least.
fn parts<'h, 'a>(hosts: &'h [&'a HostOverview], most: usize) -> Vec<&'h [&'a HostOverview]> {
    let (mut parts, mut begin, mut bytes) = (vec![], 0, 0);
    for (index, host) in hosts.iter().enumerate() {
        let escaped = minijinja::HtmlEscape(&host.host).to_string();
        let card = CARD_BYTES + escaped.len() + host_page(&host.host, 1).len();
        if index - begin == most || index > begin && bytes + card > MOST_BYTES {
            parts.push(&hosts[begin..index]);
            (begin, bytes) = (index, 0);
        }
        bytes += card;
    }
    parts.push(&hosts[begin..]);
    parts
}

/// The links between the pages of a letter; none for a single page.
fn part_links(parts: &[&[&HostOverview]], name: &str) -> Vec<PartLink> {
    let link = |(hosts, number): (&&[&HostOverview], usize)| PartLink {
        first: hosts
            .first()
            .map_or_else(String::new, |host| shown_host(&host.host)),
        page: numbered(name, number),
        is_current: false,
    };
    match parts {
        [_] => vec![],
        several => several.iter().zip(1..).map(link).collect(),
    }
}
