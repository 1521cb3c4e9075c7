//! The results of the last runs of a flapping URL.

use urldb_protocol::IncidentOverview;
use urldb_render::broken_runs;

use crate::marks::marks;

/// The results of the last runs of an incident of one flapping URL; empty for others.
pub(super) fn marks_of(it: &IncidentOverview) -> String {
    it.results.as_ref().map_or_else(String::new, marks)
}

/// `It was broken in 6 of the last 15 runs. In the last run it was as promised.`
pub(super) fn last_results(it: &IncidentOverview) -> String {
    let Some(last) = &it.results else {
        return String::new();
    };
    let often = broken_runs(last).map(|runs| format!("It was broken in {runs}. "));
    let as_promised = if last.is_good {
        "as promised"
    } else {
        "not as promised"
    };
    let often = often.unwrap_or_default();
    format!("{often}In the last run with a result it was {as_promised}.")
}
