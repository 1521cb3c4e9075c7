//! The places of the archive, and what they say of its files.

use urldb_store::Location;

use super::schedule::Workflow;
use super::{Check, ProjectSetup};
use crate::archive::{self, open_store, stored_bytes};
use crate::config::ArchiveStore;
use crate::environment;
use crate::explain::explain;

impl ProjectSetup<'_> {
    /// Facts about the places of the archive and its files.
    pub(super) fn archive_facts(&self) -> Vec<Check> {
        let facts = match archive::facts(&self.config, false) {
            Ok(facts) => facts,
            Err(error) => return vec![Check::failed("archive", &error)],
        };
        facts
            .iter()
            .map(|fact| {
                let sentence = fact.to_string();
                if fact.needs_person {
                    Check::fault("archive", sentence)
                } else {
                    Check::advice("archive", sentence)
                }
            })
            .collect()
    }

    /// The days of a round of the rolling check, if `check-bytes` makes it longer than `check-every`. With places,
    /// the last manifest on this machine has the bytes; without, the folder.
    pub(super) fn days_of_round(&self, of_folder: u64) -> Option<u64> {
        let archive = &self.config.archive;
        let bytes = if archive.stores.is_empty() {
            of_folder
        } else {
            stored_bytes(&self.config)
        };
        let days = bytes.div_ceil(archive.check_bytes.max(1));
        let wanted = archive.check_every.as_secs().div_ceil(24 * 60 * 60);
        (days > wanted.max(1)).then_some(days)
    }

    /// The places of the archive, as configured.
    pub(super) fn stores(&self, workflows: &[Workflow]) -> Vec<Check> {
        self.config
            .archive
            .stores
            .iter()
            .map(|place| self.store(place, workflows))
            .collect()
    }

    fn store(&self, place: &ArchiveStore, workflows: &[Workflow]) -> Check {
        let location = &place.location;
        let opened = open_store(place, &self.config);
        if let Location::Folder(path) = location {
            return match opened {
                Err(error) => Check::fault("store", explain(&error)),
                Ok(_) if urldb_files::is_folder(path) => {
                    Check::ok("store", format!("{location}: the folder is there"))
                }
                Ok(_) => Check::advice("store", format!("{location} is not there"))
                    .fixed_by("if its disk is there", &["mkdir", &path.to_string_lossy()]),
            };
        }
        let unset = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
            .map(|it| format!("{}{it}", place.env_prefix))
            .into_iter()
            .find(|it| environment::os_variable(it).is_none());
        let sets = |variable: &str| workflows.iter().find(|it| it.text.contains(variable));
        match (opened, unset) {
            (Ok(_), _) => Check::ok("store", format!("{location}: its credentials are set")),
            (Err(error), None) => Check::fault("store", format!("{location}: {}", explain(&error))),
            (Err(error), Some(variable)) => match sets(&variable) {
                Some(workflow) => {
                    let file = &workflow.file;
                    Check::ok(
                        "store",
                        format!("{location}: its credentials come from {file}"),
                    )
                }
                None => Check::advice("store", format!("{location}: {}", explain(&error)))
                    .fixed_by_script("to set them", &format!("export {variable}=…")),
            },
        }
    }
}
