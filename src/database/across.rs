//! Mistakes that only several domain files together have: a cname of two domains, and a page with two
//! records. `lint`, `doctor`, `resolve` and the hook find them here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use urldb_canon::rules::SiteRules;
use urldb_format::{DomainFile, DomainReader, HELD_URIS};
use urldb_text::{Code, Finding};

use super::pages::{PageCheck, location};
use crate::config::Config;

/// Collects domain files, and finds mistakes that only several of them together have.
pub(crate) struct AcrossFiles<'a> {
    other_names: BTreeMap<String, OtherNames>,
    /// The pages of the records, if there are site rules without errors.
    pages: Option<PageCheck<'a>>,
}

/// The other names of a domain, from the metadata of its file.
struct OtherNames {
    path: PathBuf,
    cnames: Vec<String>,
    line: usize,
}

impl OtherNames {
    fn location(&self) -> String {
        location(&self.path, self.line)
    }
}

impl<'a> AcrossFiles<'a> {
    /// No files yet; `rules` are site rules without errors.
    pub(crate) fn new(rules: Option<&'a SiteRules>) -> Self {
        Self {
            other_names: BTreeMap::new(),
            pages: rules.map(PageCheck::new),
        }
    }

    /// Adds the metadata of a file. The file of held URIs has no host, and so no names.
    pub(crate) fn add_head(&mut self, file: &DomainFile) {
        if file.host() == HELD_URIS {
            return;
        }
        let names = || OtherNames {
            path: file.path().to_owned(),
            cnames: file.metadata().cnames.clone(),
            line: file.metadata_line("cnames"),
        };
        self.other_names
            .entry(file.host().to_owned())
            .or_insert_with(names);
    }

    /// Adds the file at `path`. Only site rules need its records.
    pub(crate) fn add(&mut self, path: &Path) {
        match DomainFile::read_head(path) {
            Ok(head) => self.add_head(&head),
            // The mistake is one of the file alone.
            Err(_) => return self.add_head(&DomainFile::parse_head(path, b"")),
        }
        if let Some(pages) = &mut self.pages {
            let _ = DomainReader::open(path).and_then(|file| pages.add(file));
        }
    }

    /// Adds the file at `path` with this content.
    pub(crate) fn add_bytes(&mut self, path: &Path, bytes: &[u8]) {
        self.add_head(&DomainFile::parse_head(path, bytes));
        if let Some(pages) = &mut self.pages {
            let _ = DomainReader::new(path, bytes).and_then(|file| pages.add(file));
        }
    }

    /// The findings in the files that are judged, by file and line. `is_there` tells of a domain file that
    /// was not added whether there is one.
    pub(crate) fn finish(
        self,
        is_there: impl Fn(&Path) -> bool,
        is_judged: impl Fn(&Path) -> bool,
    ) -> Vec<Finding> {
        let mut findings = self.cnames(is_there, &is_judged);
        findings.extend(self.pages.into_iter().flat_map(|it| it.finish(&is_judged)));
        findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        findings
    }

    /// The cnames that belong to no single domain. Each is a mistake of one file: of that which is judged,
    /// and of the later one of two.
    fn cnames(
        &self,
        is_there: impl Fn(&Path) -> bool,
        is_judged: &impl Fn(&Path) -> bool,
    ) -> Vec<Finding> {
        let mut claims: BTreeMap<&str, Vec<(&str, &OtherNames)>> = BTreeMap::new();
        for (host, names) in &self.other_names {
            // These cnames are mistakes of their file.
            let good = names
                .cnames
                .iter()
                .filter(|it| *it != host && !it.contains('/'));
            for cname in good {
                let of_cname = claims.entry(cname).or_default();
                if of_cname.last().is_none_or(|(last, _)| last != host) {
                    of_cname.push((host, names));
                }
            }
        }
        let mut findings = vec![];
        for (cname, claims) in claims {
            let own = self.other_names.get(cname);
            let has_own = own.is_some() || {
                let path = |names: &OtherNames| names.path.with_file_name(format!("{cname}.yaml"));
                claims.iter().any(|(_, names)| is_there(&path(names)))
            };
            let (judged, others): (Vec<_>, Vec<_>) = claims
                .iter()
                .copied()
                .partition(|(_, names)| is_judged(&names.path));
            let mut add = |names: &OtherNames, problem: String, help: &str| {
                let finding = Finding::new(Code::BadCname, names.line, problem);
                findings.push(finding.with_help(help).in_file(&names.path));
            };
            if has_own {
                let help = "move its records into one of the two files, or remove the cname";
                for (_, names) in &judged {
                    let problem =
                        format!("the cname `{cname}` has a domain file of its own, {cname}.yaml");
                    add(names, problem, help);
                }
                if let Some(own) = own.filter(|own| judged.is_empty() && is_judged(&own.path)) {
                    let (host, names) = claims[0];
                    let problem = format!("this host is a cname of {host} ({})", names.location());
                    add(own, problem, help);
                }
                continue;
            }
            let ((first, its_names), later) = match (others.first(), judged.split_first()) {
                (Some(first), _) => (*first, &judged[..]),
                (None, Some((first, later))) => (*first, later),
                (None, None) => continue,
            };
            for (_, names) in later {
                let place = its_names.location();
                let problem = format!("the cname `{cname}` is a cname of {first} too ({place})");
                add(names, problem, "remove it from one of the two files");
            }
        }
        findings
    }
}

/// The findings about these files of the database and all others together.
///
/// # Errors
/// When the database or the site rules cannot be listed.
pub(crate) fn findings(config: &Config, judged: &[PathBuf]) -> anyhow::Result<Vec<Finding>> {
    let database = config.open_database()?;
    let rules = super::site_rules::read(database.directory())?;
    let mut across = AcrossFiles::new(rules.holding());
    for path in database.files() {
        across.add(path);
    }
    Ok(across.finish(is_on_disk, |path| {
        judged.iter().any(|it| it.file_name() == path.file_name())
    }))
}

/// Whether there is a file, or a link to one.
pub(crate) fn is_on_disk(path: &Path) -> bool {
    urldb_files::is_there(path)
}
