//! The template environment.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

use crate::{View, filters};

/// How many instructions one rendering may take. Our own templates need about
/// a hundred for each line of a list; an endless loop in somebody's own ends here.
const FUEL: u64 = 5_000_000;

/// A template that cannot be read or rendered.
#[derive(Debug, thiserror::Error)]
#[error("template {name}, line {line}: {what}")]
pub struct Error {
    /// The name of the template.
    pub name: String,
    /// The line, counted from 1; 0 where none can be named.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
    source: minijinja::Error,
}

impl Error {
    fn new(name: &str, source: minijinja::Error) -> Self {
        Self {
            name: source.name().unwrap_or(name).to_owned(),
            line: source.line().unwrap_or(0),
            what: match source.detail() {
                Some(detail) => format!("{}: {detail}", source.kind()),
                None => source.kind().to_string(),
            },
            source,
        }
    }
}

/// Templates that have been read and can render views.
#[derive(Debug)]
pub struct Renderer {
    environment: Environment<'static>,
}

impl Renderer {
    /// Reads templates, each with the name that error messages and [`Self::render`]
    /// use for it. Those whose name ends in `.html` escape what they print.
    pub fn new<const N: usize>(templates: [(&'static str, String); N]) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_syntax(blocks_leave_no_lines()?);
        filters::add_to(&mut environment);
        for (name, source) in templates {
            environment
                .add_template_owned(name, source)
                .map_err(|error| Error::new(name, error))?;
        }
        Ok(Self { environment })
    }

    /// Renders the template of this name.
    pub fn render(&self, name: &str, view: &View) -> Result<String, Error> {
        self.environment
            .get_template(name)
            .and_then(|template| template.render(Serde(view)))
            .map_err(|error| Error::new(name, error))
    }
}

/// Lines that hold nothing but a block tag leave no trace in the output.
fn blocks_leave_no_lines() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|error| Error::new("syntax", error))
}
