//! The URLs of an incident of which a section was told, by the filters that it had then. Pure.

use jiff::Timestamp;
use urldb_protocol::Notice;
use urldb_verdict::incident::{Member, MemberKey};

use super::audience::{Route, Routing, Section};
use crate::config::Audience;
use crate::ledger::{Filter, FormerPosition, Heard, IncidentFile};

/// A filter of earlier days.
struct EarlierFilter {
    audience: Audience,
    routing: Routing,
    /// Number of events that the section has heard under it.
    heard: usize,
    /// When it heard the last of them.
    at: Option<Timestamp>,
}

/// The filters under which a section was told of an incident.
pub(super) struct ToldBy {
    /// That of the last message; absent if it is the present one, or not known.
    last: Option<EarlierFilter>,
    former: Vec<EarlierFilter>,
}

impl ToldBy {
    /// The filters under which `section`, whose present filter is that of `route`, was told of an incident.
    pub(super) fn of(section: Section<'_>, route: &Route<'_>, file: &IncidentFile) -> Self {
        let earlier = |filter: &Filter, through: Option<&str>, at| {
            let (audience, routing) = section.routing.of_filter(filter);
            EarlierFilter {
                audience,
                routing,
                heard: through.map_or(0, |through| file.position(through)),
                at,
            }
        };
        let known = file.notified.get(section.name);
        let last = known.and_then(|known| {
            let filter = known.filter.as_ref()?;
            let through = known.through.as_deref();
            (*filter != route.filter()).then(|| earlier(filter, through, known.run_at))
        });
        let former = known.into_iter().flat_map(|known| &known.former);
        let former = former.map(|it| earlier(&it.filter, Some(&it.through), it.run_at));
        Self {
            last,
            former: former.collect(),
        }
    }

    /// Whether the filter has changed since the last message.
    pub(super) fn has_changed(&self) -> bool {
        self.last.is_some()
    }

    /// Whether a filter of the messages until now took the URL, at any time until the given one. `route` is the
    /// present one.
    pub(super) fn took(
        &self,
        route: &Route<'_>,
        file: &IncidentFile,
        member: (&MemberKey, &Member),
        (until, now): (Option<Timestamp>, Timestamp),
    ) -> bool {
        let by_last = match &self.last {
            Some(last) => last.route().has_member(member, until, now),
            None => route.has_member(member, until, now),
        };
        by_last || self.former.iter().any(|it| it.told(file, member, now))
    }

    /// The same of a notice.
    pub(super) fn took_notice(&self, route: &Route<'_>, notice: &Notice) -> bool {
        match &self.last {
            Some(last) => last.route().has_notice(notice),
            None => route.has_notice(notice),
        }
    }
}

impl EarlierFilter {
    fn route(&self) -> Route<'_> {
        self.routing.route(&self.audience)
    }

    /// Whether the section heard of the URL under the filter.
    fn told(&self, file: &IncidentFile, member: (&MemberKey, &Member), now: Timestamp) -> bool {
        let is_heard = file.position(&member.1.joined) <= self.heard;
        is_heard && self.route().has_member(member, self.at.or(Some(now)), now)
    }
}

/// Moves the filter of a position to the present one, that of `route`. The former positions stay under which the
/// section was told of URLs that are affected, and that the present filter does not take.
pub(super) fn move_filter(
    heard: &mut Heard,
    (section, route): (Section<'_>, &Route<'_>),
    file: &IncidentFile,
    now: Timestamp,
) {
    let present = route.filter();
    let last = heard.filter.replace(present.clone());
    let last = last.filter(|filter| *filter != present);
    if let (Some(filter), Some(through)) = (last, &heard.through) {
        heard.former.push(FormerPosition {
            filter,
            run_at: heard.run_at,
            through: through.clone(),
        });
    }
    let state = file.log.state();
    heard.former.retain(|former| {
        let (audience, routing) = section.routing.of_filter(&former.filter);
        let filter = EarlierFilter {
            audience,
            routing,
            heard: file.position(&former.through),
            at: former.run_at,
        };
        let mut members = state.members.iter();
        members.any(|member| filter.told(file, member, now) && !route.has_member(member, None, now))
    });
    heard.former.sort();
    heard.former.dedup();
}
