//! The template environment.

use std::borrow::Cow;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde::Serialize;

use crate::filters;

/// Most instructions of one rendering. The built-in templates need about a hundred for each line of
/// a list. This limit stops an endless loop in a user's template.
const FUEL: u64 = 5_000_000;

/// Most bytes of one rendering, and of one text that a filter makes. The page of a report with
/// 50,000 URLs has about 30 MB.
const LARGEST_OUTPUT: usize = 64 << 20;

/// A template that does not parse or cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error("template {name}, line {line}: {what}")]
pub struct Error {
    /// The name of the template.
    pub name: String,
    /// The line, counted from 1; 0 if unknown.
    pub line: usize,
    /// The fault of the template.
    pub what: String,
    source: minijinja::Error,
}

impl Error {
    fn new(name: &str, source: minijinja::Error) -> Self {
        let own = in_included(&source);
        Self {
            name: own.name().unwrap_or(name).to_owned(),
            line: own.line().unwrap_or(0),
            what: match (own.kind(), std::error::Error::source(own), own.detail()) {
                // An error of the output says only that writing failed; its cause says why.
                (ErrorKind::WriteFailure, Some(cause), _) => cause.to_string(),
                (kind, _, Some(detail)) => format!("{kind}: {detail}"),
                (kind, _, None) => kind.to_string(),
            },
            source,
        }
    }
}

/// The error of the included template that has the mistake.
fn in_included(error: &minijinja::Error) -> &minijinja::Error {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<minijinja::Error>());
    match cause {
        Some(cause) if error.kind() == ErrorKind::BadInclude => in_included(cause),
        _ => error,
    }
}

/// Parsed templates that can render views.
#[derive(Debug)]
pub struct Renderer {
    environment: Environment<'static>,
}

impl Renderer {
    /// Parses templates. Error messages and [`Self::render`] use the given names. A template whose
    /// name ends in `.html` escapes the values that it prints; one whose name ends in `.json` prints values
    /// as JSON.
    pub fn new<const N: usize>(
        templates: [(impl Into<Cow<'static, str>>, String); N],
    ) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_syntax(blocks_leave_no_lines()?);
        filters::add_to(&mut environment);
        filters::bound(&mut environment, LARGEST_OUTPUT);
        for (name, source) in templates {
            let name = name.into();
            environment
                .add_template_owned(name.clone(), source)
                .map_err(|error| Error::new(&name, error))?;
        }
        Ok(Self { environment })
    }

    /// Renders the template of this name with the data, such as [`template_data`](crate::template_data).
    pub fn render(&self, name: &str, data: &impl Serialize) -> Result<String, Error> {
        let mut output = BoundedOutput(Vec::new());
        self.environment
            .get_template(name)
            .and_then(|template| template.render_captured_to(Serde(data), &mut output))
            .map_err(|error| Error::new(name, error))?;
        String::from_utf8(output.0).map_err(|error| {
            let kind = ErrorKind::InvalidOperation;
            let source = minijinja::Error::new(kind, "the output is not UTF-8").with_source(error);
            Error::new(name, source)
        })
    }
}

/// Output in memory that takes no more than [`LARGEST_OUTPUT`] bytes.
struct BoundedOutput(Vec<u8>);

impl io::Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LARGEST_OUTPUT {
            return Err(io::Error::other(filters::too_large(LARGEST_OUTPUT)));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A syntax in which a line that holds only a block tag adds nothing to the output.
fn blocks_leave_no_lines() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|error| Error::new("syntax", error))
}
