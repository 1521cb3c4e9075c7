//! The first ones of many.

/// The first ones of many, and their number: a list of ten million lines may be wrong in each.
pub(crate) struct First<T> {
    pub(crate) first: Vec<T>,
    pub(crate) count: u64,
}

impl<T> Default for First<T> {
    fn default() -> Self {
        Self {
            first: vec![],
            count: 0,
        }
    }
}

impl<T> First<T> {
    /// Most that are kept.
    const MOST: usize = 1000;

    pub(super) fn push(&mut self, item: T) {
        self.count += 1;
        if self.first.len() < Self::MOST {
            self.first.push(item);
        }
    }

    /// The number of those that are not kept.
    pub(crate) fn more(&self) -> u64 {
        self.count - self.first.len() as u64
    }
}
