//! Fills the templates of the folder `templates/init`.

use serde_json::{Map, Value};
use urldb_render::Renderer;

#[derive(Debug, Default)]
pub(super) struct TemplateValues(Map<String, Value>);

impl TemplateValues {
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn fill(&self, template: &str) -> anyhow::Result<String> {
        let text = Renderer::new([("init", template.to_owned())])?.render("init", &self.0)?;
        Ok(format!("{}\n", text.trim_end_matches('\n')))
    }
}
