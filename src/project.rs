//! The project that a run or an overview is about: its name, its addresses, and the commit that is
//! checked out.

use std::path::Path;

use url::Url;
use urldb_protocol::ProjectInfo;
use urldb_render::shown_host;
use urldb_text::{register_credentials, sanitize};
use urldb_verdict::{NamedRecord, Selection};

use crate::config::Config;
use crate::environment;
use crate::git::Repository;

/// Most characters of a name that is not configured.
const MOST_NAME: usize = 100;

/// Most records of a selection that its text names.
const MOST_RECORDS: usize = 3;

/// The project, as reports name it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Project {
    pub(crate) name: String,
    /// The address of the repository for people, without credentials and without a final `/`.
    pub(crate) url: Option<String>,
    pub(crate) site_url: Option<String>,
    pub(crate) commit: Option<String>,
}

/// The part of a git repository that a report names.
#[derive(Debug, Default)]
pub(crate) struct Checkout {
    commit: Option<String>,
    /// The address of the remote `origin`, as it is configured.
    origin: Option<String>,
}

impl Checkout {
    /// The repository that `root` belongs to; empty if there is none, or if git refuses it.
    pub(crate) fn discover(root: &Path) -> Self {
        let repository = Repository::of_project(root).ok().flatten();
        let repository = repository.as_ref();
        let origin = repository.and_then(Repository::origin);
        // The address of the remote may have the token that git logs in with.
        if let Some(url) = &origin {
            register_credentials(url);
        }
        Self {
            commit: repository.and_then(Repository::head_commit),
            origin,
        }
    }
}

impl Project {
    /// `[project]`, and where it has no value: the variables of GitHub Actions in `env`, then the
    /// repository, then the name of the root folder.
    pub(crate) fn new(
        config: &Config,
        folder: &str,
        checkout: Checkout,
        env: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let configured = config.project.clone();
        let env = |name| env(name).filter(|value| !value.is_empty());
        let on_github = env("GITHUB_REPOSITORY").and_then(|repository| {
            let server = env("GITHUB_SERVER_URL");
            let server = server.as_deref().unwrap_or("https://github.com");
            web_address(&format!("{}/{repository}", server.trim_end_matches('/')))
        });
        let url = on_github.or_else(|| web_address(&checkout.origin?));
        let name = url.as_deref().and_then(|url| url.rsplit('/').next());
        let name = sanitize(name.unwrap_or(folder));
        Self {
            name: configured
                .name
                .unwrap_or_else(|| name.chars().take(MOST_NAME).collect()),
            url: configured.url.or(url),
            site_url: configured.site_url,
            commit: checkout.commit.or_else(|| env("GITHUB_SHA")),
        }
    }
}

pub(crate) fn project_info(config: &Config) -> ProjectInfo {
    let root = std::path::absolute(&config.root).unwrap_or_else(|_| config.root.clone());
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    let Project {
        name,
        url,
        site_url,
        commit,
    } = Project::new(
        config,
        &folder,
        Checkout::discover(&root),
        environment::variable,
    );
    ProjectInfo {
        name,
        url,
        site_url,
        commit,
    }
}

/// The web address of a git remote: of `https://USER:SECRET@HOST/PATH.git`, `ssh://git@HOST/PATH` and
/// `git@HOST:PATH`. `None` for another form, such as a folder.
fn web_address(remote: &str) -> Option<String> {
    let url = if remote.contains("://") {
        Url::parse(remote).ok()?
    } else {
        let (host, path) = remote.split_once(':')?;
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        // A single letter is a drive of Windows.
        if host.len() < 2 || host.contains('/') {
            return None;
        }
        Url::parse(&format!("ssh://{host}/{}", path.trim_start_matches('/'))).ok()?
    };
    let scheme = match url.scheme() {
        "http" => "http",
        "https" | "ssh" | "git" | "git+ssh" => "https",
        _ => return None,
    };
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let port = match (url.scheme(), url.port()) {
        ("http" | "https", Some(port)) => format!(":{port}"),
        _ => String::new(),
    };
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let address = format!("{scheme}://{host}{port}{path}");
    (path.len() > 1 && Url::parse(&address).is_ok()).then_some(address)
}

/// The selection as arguments of the command line; `None` if it is everything.
pub(crate) fn selection_text(selection: &Selection) -> Option<String> {
    let Selection {
        domains,
        categories,
        path_prefix,
        records,
        changed,
    } = selection;
    let more_domains = domains.len().saturating_sub(MOST_RECORDS);
    let more_domains = (more_domains > 0).then(|| format!("and {more_domains} more domains"));
    let domains = domains
        .iter()
        .take(MOST_RECORDS)
        .map(|domain| format!("-d {}", shown_host(domain)))
        .chain(more_domains);
    let categories = categories.iter().map(|category| format!("-c {category}"));
    let prefix = path_prefix
        .iter()
        .map(|prefix| format!("--path-prefix {prefix}"));
    let url = |named: &NamedRecord| {
        let host = named.alias.as_ref().unwrap_or(&named.domain);
        format!("{}{}", shown_host(host), named.path)
    };
    let urls = records.iter().take(MOST_RECORDS).map(url);
    let more = records.len().saturating_sub(MOST_RECORDS);
    let more = (more > 0).then(|| format!("and {more} more"));
    let changed = changed
        .iter()
        .map(|changed| format!("--changed-since {}", changed.revision));
    let text: Vec<String> = domains
        .chain(categories)
        .chain(prefix)
        .chain(changed)
        .chain(urls)
        .chain(more)
        .collect();
    (!text.is_empty()).then(|| sanitize(&text.join(" ")).into_owned())
}

#[cfg(test)]
mod tests {
    use urldb_verdict::ChangedRecords;

    use super::*;

    fn project(config: &Config, origin: Option<&str>, env: &[(&str, &str)]) -> Project {
        let checkout = Checkout {
            commit: None,
            origin: origin.map(str::to_owned),
        };
        let of = |name: &str| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Project::new(config, "folder", checkout, of)
    }

    #[test]
    fn remotes_become_web_addresses_without_secrets() {
        for (remote, address) in [
            (
                "https://ada:secret@git.example.org/a/b.git",
                Some("https://git.example.org/a/b"),
            ),
            (
                "https://git.example.org:8443/a/b/",
                Some("https://git.example.org:8443/a/b"),
            ),
            (
                "http://git.example.org/a?token=x#y",
                Some("http://git.example.org/a"),
            ),
            (
                "git@git.example.org:a/b.git",
                Some("https://git.example.org/a/b"),
            ),
            (
                "ssh://git@git.example.org:2222/a/b",
                Some("https://git.example.org/a/b"),
            ),
            ("https://git.example.org/", None),
            ("file:///srv/a.git", None),
            ("/srv/a.git", None),
            ("../a:b", None),
            ("C:\\a", None),
            ("", None),
        ] {
            assert_eq!(web_address(remote).as_deref(), address, "{remote}");
        }
    }

    #[test]
    fn a_configured_value_comes_first_then_github_then_the_remote() {
        let github = [
            ("GITHUB_REPOSITORY", "ada/sky-urls"),
            ("GITHUB_SERVER_URL", "https://github.example.org/"),
            ("GITHUB_SHA", "3f2c1ab"),
        ];
        let origin = Some("git@git.example.org:ada/other.git");
        let config = Config::default();
        let seen = project(&config, origin, &github);
        let expected = Project {
            name: "sky-urls".to_owned(),
            url: Some("https://github.example.org/ada/sky-urls".to_owned()),
            site_url: None,
            commit: Some("3f2c1ab".to_owned()),
        };
        assert_eq!(seen, expected);
        let seen = project(&config, origin, &[("GITHUB_REPOSITORY", "")]);
        assert_eq!(seen.name, "other");
        assert_eq!(
            seen.url.as_deref(),
            Some("https://git.example.org/ada/other")
        );
        assert_eq!(project(&config, None, &[]).name, "folder");
        let mut config = Config::default();
        config.project.name = Some("mine".to_owned());
        config.project.site_url = Some("https://sky.example.org".to_owned());
        let seen = project(&config, origin, &github);
        assert_eq!(seen.name, "mine");
        assert_eq!(seen.site_url.as_deref(), Some("https://sky.example.org"));
        assert!(seen.url.is_some());
    }

    #[test]
    fn a_selection_reads_like_its_arguments() {
        let named = |path: &str| NamedRecord {
            domain: "a.example".to_owned(),
            path: path.to_owned(),
            alias: None,
        };
        let selection = Selection {
            domains: vec!["a.example".to_owned()],
            categories: vec!["core".to_owned()],
            path_prefix: Some("/x".to_owned()),
            records: ["/1", "/2", "/3", "/4"].map(named).to_vec(),
            changed: Some(ChangedRecords::since("main")),
        };
        let text = selection_text(&selection).unwrap();
        let expected = "-d a.example -c core --path-prefix /x --changed-since main \
                        a.example/1 a.example/2 a.example/3 and 1 more";
        assert_eq!(text, expected);
        assert_eq!(selection_text(&Selection::default()), None);
    }
}
