//! The step that settles verdicts, once a run has seen all of them: good ones at once, all others at the end.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use urldb_protocol::{Explanation, ExplanationKind, Shown};
use urldb_verdict::diagnosis::{HostFacts, HostProbes, HostVotes, NetworkFacts, ProbePlan};

use super::options::{Progress, RunOptions};
use super::unsettled::UnsettledRecords;
use crate::ledger::JobRecord;

/// The results of probes, by host.
pub(super) type ProbeResults = BTreeMap<String, HostProbes>;

/// The facts that a run has seen, and the records that are not settled.
pub(super) struct Diagnosis<'a> {
    progress: &'a dyn Progress,
    /// The facts of each machine: machines have networks of their own.
    networks: Vec<NetworkFacts>,
    votes: HashMap<String, HostVotes>,
    probes: ProbePlan,
    unsettled: UnsettledRecords,
    asked: u64,
    /// The first error of the temporary file.
    fault: Option<anyhow::Error>,
}

impl<'a> Diagnosis<'a> {
    /// The diagnosis of a run on so many machines. `has_static` says that some jobs promise bytes.
    pub(super) fn new(options: &RunOptions<'a>, has_static: bool, machines: usize) -> Self {
        let network = &options.config.network;
        let trusts_more = network.ca_file.is_some() || network.proxy.is_some();
        let network = |_| NetworkFacts::new(has_static, trusts_more);
        Self {
            progress: options.progress,
            networks: (0..machines).map(network).collect(),
            votes: HashMap::new(),
            probes: ProbePlan::default(),
            unsettled: UnsettledRecords::default(),
            asked: 0,
            fault: None,
        }
    }

    /// Notes a record of the machine with this number. Returns whether it is settled; else it comes again at the end.
    pub(super) fn note(&mut self, machine: usize, record: &mut JobRecord) -> bool {
        let judged = &record.judged;
        self.asked += u64::from(!judged.observations.is_empty());
        let host = judged.job.host();
        if !self.votes.contains_key(host) {
            self.votes.insert(host.to_owned(), HostVotes::default());
        }
        if let Some(votes) = self.votes.get_mut(host) {
            votes.note(judged);
        }
        self.probes.note(judged);
        let is_settled = self.networks[machine].note(judged);
        if is_settled {
            self.progress.judged(judged);
        } else if self.fault.is_none() {
            self.fault = self.unsettled.add(machine, record).err();
        }
        is_settled
    }

    /// The requests that may show more.
    pub(super) fn take_probes(&mut self) -> ProbePlan {
        std::mem::take(&mut self.probes)
    }

    /// Settles all records that are left, host by host, and hands them on. `last_run` is the start of the run before.
    /// Returns the explanations.
    ///
    /// # Errors
    /// When the temporary file cannot be written or read.
    pub(super) fn end(
        mut self,
        probes: &ProbeResults,
        last_run: Option<Timestamp>,
        mut take: impl FnMut(JobRecord),
    ) -> anyhow::Result<Vec<Explanation>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut explanations = vec![];
        let mut own_network = 0;
        for host in self.unsettled.hosts() {
            let votes = self.votes.get(&host.1).copied().unwrap_or_default();
            let mut facts = HostFacts::new(votes);
            let networks = &self.networks;
            self.unsettled.each(&host, |machine, mut record| {
                if !networks[machine].settle(&mut record.judged) {
                    facts.note(&record.judged);
                }
            })?;
            let of_host = probes.get(&host.1).cloned().unwrap_or_default();
            let explained = facts.explain(&host.1, &of_host, last_run);
            explanations.extend(explained.all().cloned());
            let progress = self.progress;
            self.unsettled.each(&host, |machine, mut record| {
                if networks[machine].settle(&mut record.judged) {
                    own_network += 1;
                } else {
                    explained.settle(&mut record.judged);
                }
                progress.judged(&record.judged);
                take(record);
            })?;
        }
        if own_network > 0 {
            explanations.insert(0, of_own_network(own_network, self.asked));
        }
        Ok(explanations)
    }
}

fn of_own_network(urls: u64, of: u64) -> Explanation {
    let sentence = format!("{urls} of {of} URLs were not verified: it may be our own network");
    Explanation {
        kind: ExplanationKind::OwnNetwork,
        host: String::new(),
        urls,
        of,
        sentence: Shown::new(&sentence, Shown::LONGEST),
    }
}
