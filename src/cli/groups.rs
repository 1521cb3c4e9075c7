//! The list of commands in `urldb --help`, in groups.

use std::fmt::Write;

use clap::Command;

/// The groups and their commands, in the order of the list.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Promises",
        &["add", "rm", "list", "accept", "import", "export"],
    ),
    ("Files", &["fmt", "lint", "diff", "resolve"]),
    ("Watching", &["check", "run", "watch", "status", "log"]),
    ("Output", &["notify", "site", "archive"]),
    ("Setup", &["init", "hook", "doctor", "completions", "man"]),
    ("Learning", &["demo", "explain", "url"]),
];

/// Columns where the output is no terminal, and most columns of a terminal: as clap has it.
const WIDTH: usize = 100;

/// The command with the groups in its help, in place of one list.
pub(super) fn grouped(command: Command) -> Command {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let list = list(&command, terminal.unwrap_or(WIDTH).min(WIDTH));
    command
        // The template lists them.
        .mut_subcommands(|subcommand| subcommand.hide(true))
        .override_usage("urldb [OPTIONS] <COMMAND>")
        .help_template(format!(
            "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{all-args}}{{after-help}}"
        ))
}

/// The groups as text, with colours.
fn list(command: &Command, width: usize) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let column = names.map(|name| name.len()).max().unwrap_or_default() + 4;
    let (header, literal) = (
        command.get_styles().get_header(),
        command.get_styles().get_literal(),
    );
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .map(ToString::to_string);
            let lines = wrapped(&about.unwrap_or_default(), width.saturating_sub(column));
            let gap = " ".repeat(column.saturating_sub(2 + name.len()));
            let lines = lines.join(&format!("\n{}", " ".repeat(column)));
            let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}{lines}");
        }
        text.push('\n');
    }
    text
}

/// The text in lines of at most `width` columns; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_command_is_in_one_group_in_the_order_of_the_groups() {
        let command = crate::cli::Cli::command();
        let declared: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        assert_eq!(declared, grouped);
    }

    #[test]
    fn lines_are_as_long_as_they_may_be() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("aa bb cc", 0), ["aa", "bb", "cc"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
