//! Keys whose values are lists.

use super::Section;

impl Section<'_> {
    /// A list of texts that `check` accepts; its error is the message of the mistake.
    pub(in crate::config) fn checked_list<T>(
        &self,
        key: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let value = self.find(key)?;
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, format!("`{key}` should be a list of texts"));
            return None;
        };
        let items = items.iter().map(|item| {
            let checked = match item.get_ref().as_str() {
                Some(text) => check(text),
                None => Err(format!("`{key}` should be a list of texts")),
            };
            let problem = |message| self.problems.push(item.span().start, message);
            checked.map_err(problem).ok()
        });
        // All items are checked, so that all mistakes are found.
        let items: Vec<Option<T>> = items.collect();
        items.into_iter().collect()
    }

    /// A list of texts, which `check` reads, and of tables, which `read` reads.
    pub(in crate::config) fn texts_or_sections<T>(
        &self,
        key: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
        read: impl Fn(&Self) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.find(key) else {
            return vec![];
        };
        let wrong = |offset: usize, message: String| self.problems.push(offset, message);
        let Some(items) = value.get_ref().as_array() else {
            wrong(
                value.span().start,
                format!("`{key}` should be a list of texts or tables"),
            );
            return vec![];
        };
        items
            .iter()
            .filter_map(|item| {
                let value = item.get_ref();
                if value.as_table().is_some() {
                    return self.section_of(key.to_owned(), item)?.read_all(&read);
                }
                let checked = match value.as_str() {
                    Some(text) => check(text),
                    None => Err(format!("`{key}` should be a list of texts or tables")),
                };
                checked
                    .map_err(|message| wrong(item.span().start, message))
                    .ok()
            })
            .collect()
    }
}
