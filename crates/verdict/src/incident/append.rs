//! The events that a run appends to incidents.

use super::edit::{Appended, RunEdit, RunFacts};
use super::event::IncidentLog;
use super::outcome::UrlOutcome;
use super::{lost_evidence, newcomers, notice, notices, silence};

/// Appends the events of a run. `known` are the incidents that are open, and those closed within 30 days.
/// `outcomes` has each URL that is not as promised, and each member of `known` that the run is about, in any
/// order.
pub fn append(known: Vec<IncidentLog>, outcomes: &[UrlOutcome], run: &RunFacts<'_>) -> Appended {
    let mut outcomes: Vec<&UrlOutcome> = outcomes.iter().collect();
    outcomes.sort_by_key(|outcome| (&outcome.file, outcome.line, &outcome.key));
    let mut edit = RunEdit::new(known, &outcomes, run);
    edit.join_twins();
    edit.remove();
    notices::impaired(&mut edit);
    notices::mistakes(&mut edit);
    notices::remove(&mut edit);
    notice::look(&mut edit);
    notices::unsupported(&mut edit);
    lost_evidence::look(&mut edit);
    let silent = silence::silent_hosts(&outcomes, run);
    edit.members(&silent);
    let rest: Vec<&UrlOutcome> = outcomes
        .iter()
        .copied()
        .filter(|outcome| !edit.members.contains_key(&outcome.key))
        .collect();
    let (of_silence, rest): (Vec<_>, Vec<_>) = rest
        .into_iter()
        .partition(|outcome| outcome.is_silent() && silent.contains(outcome.host.as_str()));
    silence::join(&mut edit, &silent, of_silence);
    newcomers::join(&mut edit, rest);
    notice::end(&mut edit);
    edit.mute();
    edit.end_acks();
    edit.finish()
}
