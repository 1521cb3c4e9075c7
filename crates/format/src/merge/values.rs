//! Merges mappings, key by key.

use std::collections::{BTreeMap, BTreeSet};

use super::Side;
use crate::emit::write_documents;
use crate::value::{Mapping, Value};

/// The result of [`merge_mappings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedMapping {
    /// The merged keys and values, sorted by key.
    pub mapping: Mapping,
    /// The keys to which both sides gave different values, sorted. `mapping` has the value of the
    /// preferred version.
    pub conflicts: Vec<String>,
}

/// The merge of a value that both sides changed in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueMerge {
    /// As a list whose order has no meaning: the additions and removals of both sides count.
    Set,
    /// As a mapping, key by key, at every depth.
    Keys,
    /// As one value: a conflict.
    Whole,
}

/// Merges the keys that two sides changed since `base`. A key that one side changed has that side's
/// value. A key that both changed merges as `rule` says, if its values have that form. Any other key
/// with two new values is a conflict, and gets the value of the side `prefer`, or of `base` for `None`.
pub fn merge_mappings(
    [base, ours, theirs]: [&Mapping; 3],
    rule: fn(&str) -> ValueMerge,
    prefer: Option<Side>,
) -> MergedMapping {
    let mut keys: BTreeMap<&str, [Option<&Value>; 3]> = BTreeMap::new();
    for (version, mapping) in [base, ours, theirs].into_iter().enumerate() {
        for (key, value) in mapping.iter() {
            keys.entry(key).or_default()[version] = Some(value);
        }
    }
    let mut merged = Vec::with_capacity(keys.len());
    let mut conflicts = Vec::new();
    for (key, values) in keys {
        let (value, is_conflict) = merge_value(values, rule(key), prefer);
        merged.extend(value.map(|value| (key.to_owned(), value)));
        if is_conflict {
            conflicts.push(key.to_owned());
        }
    }
    MergedMapping {
        mapping: merged.into_iter().collect(),
        conflicts,
    }
}

/// The merged value of one key, and whether it is a conflict.
fn merge_value(
    [base, ours, theirs]: [Option<&Value>; 3],
    rule: ValueMerge,
    prefer: Option<Side>,
) -> (Option<Value>, bool) {
    if ours == theirs || base == theirs {
        return (ours.cloned(), false);
    }
    if base == ours {
        return (theirs.cloned(), false);
    }
    if rule == ValueMerge::Keys
        && let [Some(base), Some(ours), Some(theirs)] = [base, ours, theirs].map(as_mapping)
    {
        let inner = merge_mappings([&base, &ours, &theirs], |_| ValueMerge::Keys, prefer);
        let value = (!inner.mapping.is_empty()).then_some(Value::Map(inner.mapping));
        return (value, !inner.conflicts.is_empty());
    }
    if rule == ValueMerge::Set
        && let [Some(base), Some(ours), Some(theirs)] = [base, ours, theirs].map(as_set)
    {
        let items = merge_sets(base, ours, theirs);
        return ((!items.is_empty()).then_some(Value::List(items)), false);
    }
    let preferred = match prefer {
        None => base,
        Some(Side::Ours) => ours,
        Some(Side::Theirs) => theirs,
    };
    (preferred.cloned(), true)
}

/// A mapping; an absent key is an empty mapping.
fn as_mapping(value: Option<&Value>) -> Option<Mapping> {
    match value {
        None => Some(Mapping::new()),
        Some(Value::Map(mapping)) => Some(mapping.clone()),
        Some(_) => None,
    }
}

/// The items of a list; an absent key is an empty list.
fn as_set(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None => Some(&[]),
        Some(Value::List(items)) => Some(items),
        Some(_) => None,
    }
}

/// The items of `base` that neither side removed, and the items that a side added; sorted by text.
fn merge_sets(base: &[Value], ours: &[Value], theirs: &[Value]) -> Vec<Value> {
    let keyed = |items: &[Value]| -> BTreeMap<String, Value> {
        items
            .iter()
            .map(|item| (text(item), item.clone()))
            .collect()
    };
    let (base, ours, theirs) = (keyed(base), keyed(ours), keyed(theirs));
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let stays = |key: &&String| {
        !base.contains_key(*key) || (ours.contains_key(*key) && theirs.contains_key(*key))
    };
    keys.into_iter()
        .filter(stays)
        .filter_map(|key| ours.get(key).or_else(|| theirs.get(key)).cloned())
        .collect()
}

/// A text that differs for different values, and sorts texts as they are. The order of keys within the
/// value makes no difference.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => write_documents([&Mapping::from_iter([(String::new(), other.clone())])]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &str) -> Vec<Value> {
        items
            .chars()
            .map(|item| Value::from(item.to_string()))
            .collect()
    }

    #[test]
    fn a_set_takes_the_additions_and_removals_of_both_sides() {
        for (base, ours, theirs, merged) in [
            ("abc", "bc", "abcd", "bcd"),
            ("", "ab", "bc", "abc"),
            ("ab", "b", "a", ""),
            ("abc", "c", "bc", "c"),
        ] {
            let [b, o, t] = [base, ours, theirs].map(list);
            assert_eq!(
                merge_sets(&b, &o, &t),
                list(merged),
                "{base} {ours} {theirs}"
            );
            assert_eq!(
                merge_sets(&b, &t, &o),
                list(merged),
                "{base} {ours} {theirs}"
            );
        }
    }

    #[test]
    fn text_and_number_are_two_items() {
        let [number, quoted] = [Value::Plain("5".to_owned()), Value::from("5")];
        let (base, both) = ([number.clone()], [number, quoted.clone()]);
        assert_eq!(merge_sets(&base, &[], &both), [quoted]);
    }

    #[test]
    fn nested_mappings_merge_key_by_key() {
        let of = |pairs: &[(&str, &str)]| -> Mapping {
            let pairs = pairs.iter();
            let inner = pairs.map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
            Mapping::from_iter([("outer".to_owned(), Value::Map(inner.collect()))])
        };
        let (base, ours) = (of(&[("a", "1")]), of(&[("a", "1"), ("b", "2")]));
        let merged = |theirs: &Mapping, prefer| {
            merge_mappings([&base, &ours, theirs], |_| ValueMerge::Keys, prefer)
        };
        let clean = merged(&of(&[("a", "3")]), Some(Side::Ours));
        assert_eq!(clean.mapping, of(&[("a", "3"), ("b", "2")]));
        assert!(clean.conflicts.is_empty());
        let theirs = of(&[("a", "3"), ("b", "4")]);
        let disputed = merged(&theirs, Some(Side::Ours));
        assert_eq!(disputed.mapping, of(&[("a", "3"), ("b", "2")]));
        assert_eq!(disputed.conflicts, ["outer"]);
        assert_eq!(merged(&theirs, Some(Side::Theirs)).mapping, theirs);
        assert_eq!(merged(&theirs, None).mapping, of(&[("a", "3")]));
        let sides = [&base, &ours, &theirs];
        let whole = merge_mappings(sides, |_| ValueMerge::Whole, Some(Side::Ours));
        assert_eq!((whole.mapping, whole.conflicts.len()), (ours.clone(), 1));
    }
}
