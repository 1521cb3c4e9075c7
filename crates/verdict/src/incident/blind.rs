//! The notice `blind`: runs see nothing, because our own network fails.

use urldb_protocol::{EventKind, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::Event;
use super::network::OwnNetwork;

/// The host of a notice that is about none.
const NO_HOST: &str = "";

/// Opens the notice, or ends it.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    match (
        edit.open_notice(NoticeKind::Blind, NO_HOST),
        edit.run.network,
    ) {
        (None, OwnNetwork::Fails(blind)) => {
            let (index, event) = edit.open_again(NoticeKind::Blind, NO_HOST, NO_HOST);
            edit.logs[index].append(Event {
                id: edit.run.id.to_owned(),
                event,
                host_urls: Some(blind.asked),
                notice: Some(Notice {
                    kind: NoticeKind::Blind,
                    runs: Some(blind.runs),
                    since: Some(blind.since),
                    endangered: Some(blind.urls),
                    ..Notice::default()
                }),
                ..Event::default()
            });
        }
        (Some(index), OwnNetwork::Works) => edit.logs[index].append(Event {
            id: edit.run.id.to_owned(),
            event: EventKind::Closed,
            ..Event::default()
        }),
        _ => {}
    }
}
