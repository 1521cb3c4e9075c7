//! The evidence of a block, in the order: cause, promised, served, differs, seen, since, last good.

mod cause;
mod closed;
mod open;

use urldb_protocol::Phase;

use super::causes::Group;
use super::lookup::Lookup;
use super::scope::Scope;
use crate::message::Fact;
use closed::closed_facts;
use open::OpenGroup;

/// The evidence of a group.
pub(super) fn facts(group: &Group<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Vec<Fact> {
    if group.phase() == Phase::Closed {
        return closed_facts(group, envelope);
    }
    let open = OpenGroup {
        group,
        cause: group.cause(),
        envelope,
        scope,
    };
    let cause = open.cause_facts();
    let where_is = open.where_is();
    let rest = [
        open.seen(),
        open.muted(),
        open.since(),
        open.last_good(),
        open.common(),
    ];
    let rest = where_is.into_iter().chain(rest.into_iter().flatten());
    cause.into_iter().chain(rest).collect()
}
