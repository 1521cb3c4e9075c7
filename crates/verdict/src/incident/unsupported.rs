//! The notices `needs-http2` and `unsupported-tls`: a host needs a protocol or an algorithm that urldb lacks, so its
//! URLs are not checked.

use urldb_protocol::{Notice, NoticeKind};

use super::edit::RunEdit;
use super::host_notice::{close, open};

/// Opens the notices of hosts of which no URL over https answered, and ends those of hosts that answered.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    let facts = edit.run.certificates;
    for seen in facts.seen {
        let has_answered = !seen.valid.is_empty();
        let http2 = (NoticeKind::NeedsHttp2, seen.needs_http2);
        let tls = (NoticeKind::UnsupportedTls, seen.unsupported_tls);
        for (kind, urls) in [http2, tls] {
            let is_limit = urls > 0 && !has_answered && !seen.is_muted();
            match edit.open_notice(kind, &seen.host) {
                None if is_limit => {
                    let is_tls = kind == NoticeKind::UnsupportedTls;
                    let notice = Notice {
                        kind,
                        file: seen.file.clone(),
                        categories: seen.categories.iter().cloned().collect(),
                        endangered: facts.is_complete.then_some(urls),
                        limit: seen.tls_limit.clone().filter(|_| is_tls),
                        ..Notice::default()
                    };
                    open(edit, &seen.host, notice);
                }
                Some(index) if has_answered => close(edit, index, None),
                _ => {}
            }
        }
    }
}
