//! Fills templates of the folder `templates/init`, whose places are `@NAME@`.

#[derive(Debug, Default)]
pub(super) struct TemplateValues(Vec<(&'static str, String)>);

impl TemplateValues {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The template with its values. A value of several lines gets the indentation of its place. A line that
    /// has only a place with an empty value is left out, and so is a line before it that ends with a colon
    /// and then has nothing below it.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut lines: Vec<String> = vec![];
        for line in template.lines() {
            let indent = &line[..line.len() - line.trim_start().len()];
            match self.place_alone(line.trim()) {
                Some("") => {
                    let is_heading = |line: &mut String| line.trim_end().ends_with(':');
                    lines.pop_if(is_heading);
                }
                Some(value) => lines.extend(value.lines().map(|line| format!("{indent}{line}"))),
                None => lines.push(self.fill_line(line)),
            }
        }
        lines.join("\n") + "\n"
    }

    /// The value, if the line has nothing else.
    fn place_alone(&self, line: &str) -> Option<&str> {
        let name = line.strip_prefix('@')?.strip_suffix('@')?;
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// One pass: a value with an `@NAME@` of its own stays as it is.
    fn fill_line(&self, line: &str) -> String {
        let mut filled = String::new();
        let mut rest = line;
        while let Some(start) = rest.find('@') {
            let (before, place) = rest.split_at(start);
            filled.push_str(before);
            let found = self.0.iter().find_map(|(name, value)| {
                let after = place
                    .strip_prefix('@')?
                    .strip_prefix(name)?
                    .strip_prefix('@')?;
                Some((value, after))
            });
            let (value, after) =
                found.map_or(("@", &place[1..]), |(value, after)| (value.as_str(), after));
            filled.push_str(value);
            rest = after;
        }
        filled + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_get_their_values_once() {
        let values = TemplateValues::default()
            .with("A", "@B@")
            .with("B", "one: 1\ntwo: 2")
            .with("EMPTY", "");
        let template = "a: @A@, @unknown-@x\nwith:\n  @B@\nenv:\n  @EMPTY@\nend\n";
        let filled = "a: @B@, @unknown-@x\nwith:\n  one: 1\n  two: 2\nend\n";
        assert_eq!(values.fill(template), filled);
    }
}
