//! The step that writes: the message into the outbox, then the incidents, the ledger and the history.
//! Wherever a run is killed, this order lets the next run repair the rest.

use super::conclude::Conclusion;
use super::outcome::{Outcome, UnsentMessages, combined};
use crate::ledger;
use crate::notify::IncidentFacts;

/// Writes the results of a run. [`Outcome::deliver`] sends the message.
pub(super) fn commit(conclusion: Conclusion) -> Outcome {
    let Conclusion {
        envelope,
        results,
        exit_code,
        notifiers,
        outbox,
        incidents,
        memory,
        mut ledger,
        ledger_folder,
        line,
        mut messages,
        late,
        past,
        now,
    } = conclusion;
    let unrouted = notifiers.unrouted(&memory.incidents());
    // A transition that could not be written is not in the ledger, so the next run sees it again.
    let written = notifiers
        .post(&outbox, &envelope, &past, &memory)
        .and_then(|()| memory.save(&incidents))
        .and_then(|()| ledger.save())
        .and_then(|()| ledger::append(&ledger_folder, &line));
    messages.add_failure(written);
    messages.notes.extend(unrouted.map(|it| it.line()));
    Outcome {
        exit_code: combined(exit_code, &envelope.mistakes, &messages.troubles),
        envelope,
        results,
        troubles: messages.troubles,
        notes: messages.notes,
        late,
        settings: None,
        unsent: Some(UnsentMessages {
            notifiers,
            outbox,
            now,
            memory,
        }),
    }
}
