//! Three-way merge of a message in the outbox, which two runs tried to deliver.

use std::collections::BTreeMap;

use serde_json::Value;
use urldb_format::Versions;

/// Merges the versions of a message. `None` if the file is gone: a run has delivered the whole message,
/// or a person has dropped it.
///
/// A delivery that either side made is made. Of two tries of a delivery that failed, the later counts. Of
/// two messages in another form than urldb writes, the greater bytes count.
pub fn merge(versions: Versions) -> Option<Vec<u8>> {
    if let Some(bytes) = versions.undisputed() {
        return bytes.map(<[u8]>::to_vec);
    }
    // Both orders give the same result.
    let (first, second) = (
        versions.ours?.max(versions.theirs?),
        versions.ours?.min(versions.theirs?),
    );
    Some(join(first, second).unwrap_or_else(|| first.to_vec()))
}

fn join(first: &[u8], second: &[u8]) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(first).ok()?;
    let other: Value = serde_json::from_slice(second).ok()?;
    let id = |delivery: &Value| delivery.get("id")?.as_str().map(str::to_owned);
    let mut others: BTreeMap<String, &Value> = other
        .get("deliveries")?
        .as_array()?
        .iter()
        .filter_map(|delivery| Some((id(delivery)?, delivery)))
        .collect();
    let deliveries = message.get_mut("deliveries")?.as_array_mut()?;
    for delivery in deliveries.iter_mut() {
        let rival = id(delivery).and_then(|id| others.remove(&id));
        if let Some(rival) = rival
            && rank(rival) > rank(delivery)
        {
            *delivery = rival.clone();
        }
    }
    deliveries.extend(others.into_values().cloned());
    let mut bytes = serde_json::to_vec_pretty(&message).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

/// The rank of a version of a delivery: of two versions, the greater one counts.
fn rank(delivery: &Value) -> (bool, Option<jiff::Timestamp>, String) {
    let text = |key| delivery.get(key).and_then(Value::as_str);
    let is_delivered = text("outcome") == Some("delivered");
    let tried = text("last_tried").and_then(|time| time.parse().ok());
    (is_delivered, tried, delivery.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(deliveries: &[(&str, &str, u8)]) -> Vec<u8> {
        let deliveries = deliveries.iter().map(|(id, outcome, day)| {
            json!({"id": id, "outcome": outcome, "last_tried": format!("2026-11-0{day}T00:00:00Z")})
        });
        let deliveries: Vec<Value> = deliveries.collect();
        let message =
            json!({"protocol": 1, "deliveries": deliveries, "envelope": {"run": {"id": "r"}}});
        let mut bytes = serde_json::to_vec_pretty(&message).unwrap();
        bytes.push(b'\n');
        bytes
    }

    fn merged(base: &[u8], ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Option<Vec<u8>> {
        let of = |ours, theirs| {
            merge(Versions {
                base: Some(base),
                ours,
                theirs,
            })
        };
        assert_eq!(of(ours, theirs), of(theirs, ours));
        of(ours, theirs)
    }

    #[test]
    fn no_delivery_is_made_again_and_none_is_lost() {
        let base = message(&[("a", "pending", 1), ("b", "pending", 1), ("c", "retry", 1)]);
        let ours = message(&[("a", "delivered", 2), ("b", "retry", 2), ("c", "retry", 2)]);
        let theirs = message(&[("a", "retry", 3), ("b", "delivered", 3), ("c", "failed", 3)]);
        let both = message(&[
            ("a", "delivered", 2),
            ("b", "delivered", 3),
            ("c", "failed", 3),
        ]);
        assert_eq!(merged(&base, Some(&ours), Some(&theirs)), Some(both));
        assert_eq!(merged(&base, None, Some(&theirs)), None);
        assert_eq!(merged(&base, Some(b"x"), Some(b"y")), Some(b"y".to_vec()));
    }
}
