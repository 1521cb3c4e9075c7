//! Incidents that branches opened about the same, and that are one after a merge.

use std::collections::HashMap;

use urldb_protocol::{EventKind, NoticeKind};

use super::edit::RunEdit;
use super::event::{Event, EventUrl};
use super::log_edit::LogEdit;
use super::lost_evidence;
use super::topic::topic;

impl RunEdit<'_> {
    /// Of incidents that affect one URL, have one key, or are notices about one thing, the one that opened first takes
    /// the URLs of the others. Branches that both opened an incident bring this about.
    pub(super) fn join_twins(&mut self) {
        let mut by_key: HashMap<String, usize> = HashMap::new();
        let mut notices: HashMap<(NoticeKind, String), usize> = HashMap::new();
        for index in 0..self.logs.len() {
            let LogEdit { log, state, .. } = &self.logs[index];
            if !state.is_open() {
                continue;
            }
            let topic = state.open_notice().map(|notice| topic(&log.host, notice));
            let same = topic.as_ref().and_then(|topic| notices.get(topic));
            let twin = by_key.get(&log.key).or(same).copied().or_else(|| {
                state
                    .members
                    .keys()
                    .find_map(|key| self.members.get(key).copied())
            });
            match twin {
                None => {
                    by_key.insert(log.key.clone(), index);
                    notices.extend(topic.map(|topic| (topic, index)));
                    let keys = state.members.keys().cloned();
                    self.members.extend(keys.map(|key| (key, index)));
                }
                Some(winner) => self.merge(index, winner),
            }
        }
        for (index, LogEdit { state, .. }) in self.logs.iter().enumerate() {
            for (key, departure) in &state.left {
                let known = self.departures.get(key).copied();
                let at = |index: usize| {
                    self.logs[index]
                        .state
                        .left
                        .get(key)
                        .map(|it| it.at.as_str())
                };
                if known.is_none_or(|known| at(known) < Some(departure.at.as_str())) {
                    self.departures.insert(key.clone(), index);
                }
            }
        }
    }

    fn merge(&mut self, from: usize, winner: usize) {
        let run = self.run.id;
        let into = self.logs[winner].log.id.clone();
        let source = self.logs[from].log.id.clone();
        let members = std::mem::take(&mut self.logs[from].state.members);
        let notice = self.logs[from].state.open_notice().cloned();
        self.logs[from].append(Event {
            id: run.to_owned(),
            event: EventKind::Merged,
            into: Some(into),
            ..Event::default()
        });
        if let Some(notice) = notice {
            lost_evidence::take_over(self, winner, &notice);
        }
        for (key, member) in members {
            // One of several twins has it already.
            if self.members.contains_key(&key) {
                continue;
            }
            self.members.insert(key.clone(), winner);
            let event = Event {
                id: run.to_owned(),
                event: EventKind::Grown,
                cause: member.cause.clone(),
                from: Some(source.clone()),
                ..Event::default()
            };
            let url = EventUrl {
                joining: Some(member.joining.clone()),
                ..EventUrl::of(&key)
            };
            self.logs[winner].add(event, url, None);
            for (is_set, kind) in [
                (member.muted, EventKind::Muted),
                (member.flapping.is_some(), EventKind::Flapping),
            ] {
                if is_set {
                    self.logs[winner].tell(run, kind, &key);
                }
            }
        }
    }
}
