//! What the tests share.

use urldb_interchange::{ListItem, Notice, NoticeSeverity, ReadError, ReadEvent, Sink};

/// Everything that a reader hands over.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) items: Vec<ListItem>,
    pub(crate) notices: Vec<Notice>,
}

impl Taken {
    /// What `read` finds, which must be able to read all of it.
    #[track_caller]
    pub(crate) fn of(read: impl FnOnce(&mut Sink<'_>) -> Result<(), ReadError>) -> Self {
        let (taken, result) = Self::with_result(read);
        result.unwrap_or_else(|error| panic!("{error}"));
        taken
    }

    pub(crate) fn with_result(
        read: impl FnOnce(&mut Sink<'_>) -> Result<(), ReadError>,
    ) -> (Self, Result<(), ReadError>) {
        let mut taken = Self::default();
        let result = read(&mut |found| {
            match found {
                ReadEvent::Item(item) => taken.items.push(*item),
                ReadEvent::Notice(notice) => taken.notices.push(notice),
            }
            Ok(())
        });
        (taken, result)
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        let url = |item: &ListItem| item.url().unwrap().to_string();
        self.items.iter().map(url).collect()
    }

    /// Location and code of each notice of this severity.
    pub(crate) fn codes(&self, severity: NoticeSeverity) -> Vec<String> {
        let notices = self
            .notices
            .iter()
            .filter(|notice| notice.severity == severity);
        notices
            .map(|notice| format!("{} {}", notice.location, notice.code))
            .collect()
    }

    pub(crate) fn refused(&self) -> Vec<String> {
        self.codes(NoticeSeverity::Refused)
    }
}

/// A SHA-256 of nothing in particular.
pub(crate) fn digest(digit: char) -> String {
    digit.to_string().repeat(64)
}
