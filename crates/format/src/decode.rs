//! The one module that knows `serde_yaml`: decodes a piece of YAML with all scalars as text.
//!
//! `serde_yaml` hands out the source text of a scalar only to those who ask for text, and fails
//! when the value is something else. So a first pass learns the shape of the piece, and a second
//! one asks for text where the shape has a scalar. Pieces are small and have no document marker,
//! anchor, alias or tag; the callers see to that.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use crate::value::{Mapping, Value};

/// What a piece of YAML holds.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Keys that occur twice in one mapping; the first value was kept.
    pub(crate) duplicates: Vec<String>,
}

/// Why a piece could not be decoded.
#[derive(Debug)]
pub(crate) struct DecodeError {
    /// The line within the piece, from 0.
    pub(crate) line: usize,
    /// The column, from 1.
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Decodes one piece.
pub(crate) fn decode(piece: &str) -> Result<Decoded, DecodeError> {
    let mut duplicates = Vec::new();
    let shape = ShapeSeed
        .deserialize(serde_yaml::Deserializer::from_str(piece))
        .map_err(error)?;
    let reader = TextSeed {
        shape: &shape,
        duplicates: &mut duplicates,
    };
    let value = reader
        .deserialize(serde_yaml::Deserializer::from_str(piece))
        .map_err(error)?;
    Ok(Decoded { value, duplicates })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err wants"
)]
fn error(error: serde_yaml::Error) -> DecodeError {
    let (line, column) = error.location().map_or((0, 1), |at| {
        (at.line().saturating_sub(1), at.column().max(1))
    });
    let message = error.to_string();
    // The position is told apart from the message: ours is that of the file.
    let message = message
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned();
    DecodeError {
        line,
        column,
        message,
    }
}

/// Where the scalars are.
#[derive(Debug)]
enum Shape {
    Scalar,
    List(Vec<Shape>),
    Map(Vec<Shape>),
}

/// Reads any value for its [`Shape`].
struct ShapeSeed;

impl<'de> DeserializeSeed<'de> for ShapeSeed {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident($kind:ty)),*) => {
        $(fn $visit<E>(self, _: $kind) -> Result<Shape, E> {
            Ok(Shape::Scalar)
        })*
    };
}

impl<'de> Visitor<'de> for ShapeSeed {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("text, a list or a mapping without tags")
    }

    scalars!(
        visit_bool(bool),
        visit_i64(i64),
        visit_u64(u64),
        visit_i128(i128),
        visit_u128(u128)
    );
    scalars!(visit_f64(f64), visit_str(&str));

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut shapes = Vec::new();
        while let Some(shape) = items.next_element_seed(ShapeSeed)? {
            shapes.push(shape);
        }
        Ok(Shape::List(shapes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Shape, A::Error> {
        let mut shapes = Vec::new();
        while let Some(key) = pairs.next_key_seed(ShapeSeed)? {
            if !matches!(key, Shape::Scalar) {
                return Err(A::Error::custom(
                    "a key must be text, not a list or a mapping",
                ));
            }
            shapes.push(pairs.next_value_seed(ShapeSeed)?);
        }
        Ok(Shape::Map(shapes))
    }
}

/// Reads a value of a known shape, scalars as text.
struct TextSeed<'a> {
    shape: &'a Shape,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.shape {
            Shape::Scalar => deserializer.deserialize_str(self),
            Shape::List(_) => deserializer.deserialize_seq(self),
            Shape::Map(_) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for TextSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the value that was there in the first pass")
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Shape::List(shapes) = self.shape else {
            return Err(A::Error::custom("unexpected list"));
        };
        let mut values = Vec::with_capacity(shapes.len());
        for shape in shapes {
            values.extend(items.next_element_seed(TextSeed {
                shape,
                duplicates: self.duplicates,
            })?);
        }
        // serde_yaml wants to be asked for the end.
        match items.next_element_seed(ShapeSeed)? {
            Some(_) => Err(A::Error::custom("unexpected item")),
            None => Ok(Value::List(values)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let Shape::Map(shapes) = self.shape else {
            return Err(A::Error::custom("unexpected mapping"));
        };
        let mut read: Vec<(String, Value)> = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let Some(key) = pairs.next_key()? else { break };
            read.push((
                key,
                pairs.next_value_seed(TextSeed {
                    shape,
                    duplicates: self.duplicates,
                })?,
            ));
        }
        if pairs.next_key_seed(ShapeSeed)?.is_some() {
            return Err(A::Error::custom("unexpected key"));
        }
        let keys: Vec<String> = read.iter().map(|(key, _)| key.clone()).collect();
        let mapping =
            Mapping::from_pairs(read, |_, again| self.duplicates.push(keys[again].clone()));
        Ok(Value::Map(mapping))
    }
}
