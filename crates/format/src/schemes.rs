//! The schemes of new records, so that runs ask for exactly the URLs that people named.

use std::collections::BTreeMap;

use urldb_canon::Scheme;

use crate::metadata::Metadata;
use crate::record::Record;

impl Metadata {
    /// The metadata for a new domain file: the schemes of most of its records. `urls` has the path of each URL, and its
    /// scheme.
    ///
    /// ```
    /// use urldb_canon::Scheme::{Http, Https};
    /// use urldb_format::Metadata;
    ///
    /// let urls = [("/a", Http), ("/b", Https), ("/c", Https)];
    /// assert_eq!(Metadata::of_urls(urls), Metadata::for_schemes(&[Https]));
    /// ```
    pub fn of_urls<'a>(urls: impl IntoIterator<Item = (&'a str, Scheme)>) -> Self {
        let mut records: BTreeMap<&str, Vec<Scheme>> = BTreeMap::new();
        for (path, scheme) in urls {
            records.entry(path).or_default().push(scheme);
        }
        let all = [
            &[Scheme::Http][..],
            &[Scheme::Http, Scheme::Https],
            &[Scheme::Https],
        ];
        let number = |wanted: &[Scheme]| {
            let metadata = Self::for_schemes(wanted);
            records
                .values()
                .filter(|it| Self::for_schemes(it) == metadata)
                .count()
        };
        // Of several with one number, the last one: https.
        let most = all.into_iter().max_by_key(|schemes| number(schemes));
        Self::for_schemes(most.unwrap_or(&[Scheme::Https]))
    }

    /// Lets runs ask for a record over these schemes too. A new record of a domain that is asked over all of them gets
    /// no `schemes` of its own.
    pub fn add_schemes(&self, record: &mut Record, is_known: bool, named: &[Scheme]) {
        let asked = self.schemes_of(record);
        if named.iter().all(|scheme| asked.contains(scheme)) {
            return;
        }
        let before = if is_known { asked } else { vec![] };
        self.set_schemes(record, &[&before, named].concat());
    }
}

#[cfg(test)]
mod tests {
    use Scheme::{Http, Https};

    use super::*;

    #[test]
    fn a_new_file_has_the_schemes_of_most_records() {
        for (urls, schemes) in [
            (vec![("/a", Http)], vec![Http]),
            (vec![("/a", Https)], vec![Https]),
            (vec![("/a", Http), ("/b", Https)], vec![Https]),
            (vec![("/a", Http), ("/b", Http), ("/c", Https)], vec![Http]),
            (vec![("/a", Http), ("/a", Https)], vec![Http, Https]),
            (
                vec![("/a", Http), ("/a", Https), ("/b", Https)],
                vec![Https],
            ),
            (vec![], vec![Https]),
        ] {
            assert_eq!(
                Metadata::of_urls(urls.iter().copied()).schemes(),
                schemes,
                "{urls:?}"
            );
        }
    }

    #[test]
    fn only_records_that_need_it_have_schemes() {
        let https = Metadata::for_schemes(&[Https]);
        let schemes = |is_known: bool, named: &[Scheme]| {
            let mut record = Record::new("/");
            https.add_schemes(&mut record, is_known, named);
            record.schemes.join(" ")
        };
        assert_eq!(schemes(false, &[Https]), "");
        assert_eq!(schemes(false, &[Http]), "http");
        assert_eq!(schemes(true, &[Http]), "http https");
        assert_eq!(schemes(false, &[Https, Http]), "http https");
    }
}
