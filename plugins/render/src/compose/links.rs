//! Links to lines of domain files on the website of the repository, and to pages of the status site.

use url::Url;
use urldb_protocol::{Envelope, ProjectInfo, UrlUses};
use urldb_text::sanitize;

use crate::message::{SiteLink, SourceLink};
use crate::text::{Text, one_line};

/// A line of a domain file, with its page if the website of the repository is known.
pub(super) fn source_link(envelope: &Envelope, file: &str, line: Option<usize>) -> SourceLink {
    SourceLink {
        file: one_line(file),
        line,
        link: file_link(envelope, file, line),
        is_list: false,
    }
}

/// The first line of the lists that use a URL.
pub(super) fn list_link(envelope: &Envelope, uses: &UrlUses) -> Option<SourceLink> {
    let (lines, _) = uses.split();
    let first = lines.first()?;
    Some(SourceLink {
        is_list: true,
        ..source_link(envelope, &first.file, Some(first.line))
    })
}

/// The page of a line on GitHub, GitLab, Forgejo or Gitea; absent for another website, whose
/// addresses are unknown.
fn file_link(envelope: &Envelope, file: &str, line: Option<usize>) -> Option<String> {
    let commit = envelope.run.commit.as_deref()?;
    link_to(envelope.run.project_url.as_deref()?, commit, file, line)
}

/// The page of a line of a file at a commit, if the website of the repository is known.
pub fn project_file_link(
    project: &ProjectInfo,
    commit: Option<&str>,
    file: &str,
    line: Option<usize>,
) -> Option<String> {
    link_to(project.url.as_deref()?, commit?, file, line)
}

/// A service for repositories whose addresses are known.
enum Service {
    GitHub,
    GitLab,
    /// Gitea has the same addresses.
    Forgejo,
}

fn service(url: &Url) -> Option<Service> {
    let host = url.host_str()?;
    let names = |service: &str| host.split('.').any(|label| label == service);
    if names("github") {
        Some(Service::GitHub)
    } else if names("gitlab") {
        Some(Service::GitLab)
    } else if ["codeberg", "forgejo", "gitea"].into_iter().any(names) {
        Some(Service::Forgejo)
    } else {
        None
    }
}

fn link_to(repository: &str, commit: &str, file: &str, line: Option<usize>) -> Option<String> {
    let mut url = web_address(repository)?;
    let folders: &[&str] = match service(&url)? {
        Service::GitHub => &["blob"],
        Service::GitLab => &["-", "blob"],
        Service::Forgejo => &["src", "commit"],
    };
    url.path_segments_mut()
        .ok()?
        .pop_if_empty()
        .extend(folders)
        .push(commit)
        .extend(file.split('/'));
    url.set_fragment(line.map(|line| format!("L{line}")).as_deref());
    Some(url.into())
}

fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(&sanitize(text)).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The page of the site about one incident, or the start page for several.
pub(super) fn site_link(envelope: &Envelope, ids: &[&str], groups: usize) -> Option<SiteLink> {
    let mut url = web_address(envelope.run.site_url.as_deref()?)?;
    let (label, short_label) = match ids {
        [id] if !id.is_empty() => {
            let page = format!("{id}.html");
            url.path_segments_mut()
                .ok()?
                .pop_if_empty()
                .extend(["incidents", &page]);
            ("The incident on the status site", format!("Incident {id}"))
        }
        _ => {
            url.path_segments_mut().ok()?.pop_if_empty().push("");
            let label = match groups {
                0 => "The status site",
                1 => "The incidents on the status site",
                _ => "All incidents on the status site",
            };
            (label, "Status site".to_owned())
        }
    };
    Some(SiteLink {
        label: label.to_owned(),
        short_label,
        url: url.into(),
    })
}

/// `category core` for `-c core`; other selections as they are on the command line.
pub(crate) fn selection(arguments: &str) -> Text {
    let mut words = arguments.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("-c"), Some(category), None) => Text::from("category ").outside(category),
        (Some("-d"), Some(domain), None) => Text::new().host(domain),
        _ => Text::from("the selection ").outside(arguments),
    }
}
