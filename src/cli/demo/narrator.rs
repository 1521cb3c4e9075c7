//! The demo's output: headings, prose, commands and their output, in 80 columns.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::cli::print::style::DIM;

/// The width of prose and commands, in characters.
const WIDTH: usize = 78;

const HEADING: Style = Style::new().bold().underline();
const COMMAND: Style = AnsiColor::Cyan.on_default().bold();

/// Writes the demo's text to a stream that takes colours, or strips them.
pub(super) struct Narrator<W> {
    out: W,
    step: usize,
    /// Whether the last line is a command; the next command then follows without a gap.
    after_command: bool,
}

impl<W: Write> Narrator<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            step: 0,
            after_command: false,
        }
    }

    /// Begins the next step.
    pub(super) fn step(&mut self, heading: &str) -> io::Result<()> {
        self.step += 1;
        self.gap()?;
        writeln!(self.out, "{HEADING}{}. {heading}{HEADING:#}", self.step)
    }

    /// A paragraph.
    pub(super) fn say(&mut self, prose: &str) -> io::Result<()> {
        self.gap()?;
        for line in wrap(prose, WIDTH) {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Short items, each in a line.
    pub(super) fn list(&mut self, items: &[&str]) -> io::Result<()> {
        self.gap()?;
        for item in items {
            writeln!(self.out, "  - {item}")?;
        }
        Ok(())
    }

    /// A command as a user would type it.
    pub(super) fn command(&mut self, words: &[&str]) -> io::Result<()> {
        if !self.after_command {
            self.gap()?;
        }
        self.after_command = true;
        let mut prompt = "$";
        for line in command_lines(words, WIDTH - 4) {
            writeln!(
                self.out,
                "  {DIM}{prompt}{DIM:#} {COMMAND}{line}{COMMAND:#}"
            )?;
            prompt = " ";
        }
        Ok(())
    }

    /// A line of a command's output, with its colours.
    pub(super) fn output(&mut self, line: &str) -> io::Result<()> {
        self.after_command = false;
        writeln!(self.out, "{}", format!("    {line}").trim_end())
    }

    /// Text that a user writes into a file with an editor.
    pub(super) fn file(&mut self, file: &str, text: &str) -> io::Result<()> {
        self.gap()?;
        writeln!(self.out, "  {DIM}in{DIM:#} {COMMAND}{file}{COMMAND:#}")?;
        self.quote(text)
    }

    /// Text that is shown as it is.
    pub(super) fn quote(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            let line = format!("{DIM}|{DIM:#} {line}");
            writeln!(self.out, "    {}", line.trim_end())?;
        }
        Ok(())
    }

    /// A remark about the command above it.
    pub(super) fn remark(&mut self, text: &str) -> io::Result<()> {
        self.after_command = false;
        writeln!(self.out, "    {DIM}({text}){DIM:#}")
    }

    fn gap(&mut self) -> io::Result<()> {
        self.after_command = false;
        writeln!(self.out)
    }
}

/// Breaks prose between words.
fn wrap(prose: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in prose.split_whitespace() {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.len() + 1 + word.len() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A command, quoted for a shell, with `\` at the end of a line that continues.
fn command_lines(words: &[&str], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.iter().map(|word| shell_word(word)) {
        let Some(line) = lines.last_mut() else {
            continue;
        };
        if line.trim().is_empty() {
            line.push_str(&word);
        } else if line.len() + 1 + word.len() + " \\".len() <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            line.push_str(" \\");
            lines.push(format!("    {word}"));
        }
    }
    lines
}

fn shell_word(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,@%+".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The narrator's text without colours.
    fn narrated(
        tell: impl FnOnce(&mut Narrator<&mut anstream::StripStream<Vec<u8>>>) -> io::Result<()>,
    ) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        tell(&mut Narrator::new(&mut out)).expect("a Vec takes everything");
        String::from_utf8(out.into_inner()).expect("only text is written")
    }

    #[test]
    fn people_read_this() {
        let text = narrated(|narrator| {
            narrator.step("A heading")?;
            narrator.say(&"word ".repeat(20))?;
            narrator.list(&["one", "two"])?;
            narrator.command(&["git", "add", "."])?;
            narrator.command(&["urldb", "add", "http://demo.example/search?q=m51", "it's"])?;
            narrator.output("added")?;
            narrator.output("")?;
            narrator.remark("exit code 0")?;
            narrator.file("a.toml", "[a]\n\nb = 1\n")?;
            narrator.step("Another")
        });
        insta::assert_snapshot!(text, @r"
        1. A heading

        word word word word word word word word word word word word word word word
        word word word word word

          - one
          - two

          $ git add .
          $ urldb add 'http://demo.example/search?q=m51' 'it'\''s'
            added

            (exit code 0)

          in a.toml
            | [a]
            |
            | b = 1

        2. Another
        ");
    }

    #[test]
    fn long_commands_go_on_in_the_next_line() {
        assert_eq!(
            command_lines(&["urldb", "add", "aaaa", "bbbb"], 16),
            ["urldb add aaaa \\", "    bbbb"]
        );
        assert_eq!(
            command_lines(&["urldb", "a-very-long-word"], 8),
            ["urldb \\", "    a-very-long-word"]
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        for (word, quoted) in [
            ("http://a/b.c", "http://a/b.c"),
            ("a?b", "'a?b'"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
