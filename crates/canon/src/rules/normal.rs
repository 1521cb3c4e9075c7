//! Path and query of a URL as a rule reads them: the path that a parameter has, and forced lower case.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, percent_decode_str, percent_encode};

use super::error::ResolveError;
use super::query::{QueryParameter, lower_case, parameters};
use super::script::RuleProperties;
use super::url_parts::UrlParts;
use crate::escape;

/// Characters of a decoded value that a path has only as escapes, so that the path keeps them all.
const PATH_VALUE: &AsciiSet = &escape::PATH.add(b'%').add(b'?').add(b'#').add(b'\\');

/// Path and query of a URL, as a rule reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NormalUrl {
    /// The path; starts with `/`.
    pub(crate) path: String,
    /// The query; never empty.
    pub(crate) query: Option<String>,
}

impl NormalUrl {
    /// Path and query as they are.
    pub(crate) fn of(parts: &UrlParts) -> Self {
        Self {
            path: parts.path.clone(),
            query: parts.query.clone(),
        }
    }

    /// Path and query as a rule with these properties reads them. With `any_case`, the parameter with the
    /// path has its name in any case.
    ///
    /// # Errors
    /// When the parameter with the path is repeated, or has no path as its value.
    pub(crate) fn with(
        &self,
        properties: &RuleProperties,
        any_case: bool,
    ) -> Result<Cow<'_, Self>, ResolveError> {
        if !properties.change_the_url() {
            return Ok(Cow::Borrowed(self));
        }
        let mut normal = self.clone();
        if let Some(name) = &properties.path_parameter {
            let any_case = any_case || properties.lower_query;
            normal.take_path(name, any_case)?;
        }
        if properties.lower_path {
            normal.path = lower_case(&normal.path);
        }
        if properties.lower_query {
            normal.query = normal.query.as_deref().map(lower_case);
        }
        Ok(Cow::Owned(normal))
    }

    /// The same in lower case.
    pub(crate) fn to_lower_case(&self) -> Self {
        Self {
            path: lower_case(&self.path),
            query: self.query.as_deref().map(lower_case),
        }
    }

    /// Replaces the path `/` by the value of the parameter `name`, if there is one.
    fn take_path(&mut self, name: &str, any_case: bool) -> Result<(), ResolveError> {
        let Some(query) = self.query.clone().filter(|_| self.path == "/") else {
            return Ok(());
        };
        let is_path = |parameter: &QueryParameter<'_>| {
            parameter.name == name || (any_case && lower_case(parameter.name) == name)
        };
        let mut values = parameters(&query).filter(is_path);
        let Some(parameter) = values.next() else {
            return Ok(());
        };
        if values.next().is_some() {
            let name = name.to_owned();
            return Err(ResolveError::DuplicateParameter { name });
        }
        let path = clean_path(&parameter).ok_or_else(|| ResolveError::BadPathParameter {
            name: name.to_owned(),
            value: parameter.raw_value().to_owned(),
        })?;
        let others: Vec<&str> = parameters(&query)
            .filter(|parameter| !is_path(parameter))
            .map(|parameter| parameter.raw)
            .collect();
        self.query = Some(others.join("&")).filter(|query| !query.is_empty());
        self.path = path;
        Ok(())
    }
}

/// The path that is the value of a parameter; `None` if the value has dot segments, which no path keeps.
fn clean_path(parameter: &QueryParameter<'_>) -> Option<String> {
    let spaced = parameter.raw_value().replace('+', " ");
    let value: Vec<u8> = percent_decode_str(&spaced).collect();
    let value = value.strip_prefix(b"/").unwrap_or(&value);
    if value
        .split(|byte| *byte == b'/')
        .any(|segment| matches!(segment, b"." | b".."))
    {
        return None;
    }
    Some(format!("/{}", percent_encode(value, PATH_VALUE)))
}
