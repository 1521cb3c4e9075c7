//! The git hooks that urldb uses, and the text of their shim.

/// The shim, as the pre-commit hook: `hooks/pre-commit`.
const SHIM: &str = include_str!("../../hooks/pre-commit");
/// The line that marks our own shim, of any version.
pub(super) const MARK: &str = "# urldb hook:";
/// The first words of the shim's part for a hook that was there before.
const CHAIN: &str = "# The hook that was here before";

/// A git hook that urldb uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Before every commit except those of [`Self::PreMergeCommit`].
    PreCommit,
    /// Before the commit of a merge without conflicts. Git has written the
    /// tree already, so the commit lacks what the hook stages.
    PreMergeCommit,
}

impl Hook {
    /// All hooks.
    pub const ALL: [Self; 2] = [Self::PreCommit, Self::PreMergeCommit];

    /// Git's name of the hook.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreMergeCommit => "pre-merge-commit",
        }
    }

    /// The hook of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// The line by which the shim serves a project.
    pub(super) fn line(self, project: &str) -> String {
        let folder = project.replace('\'', "'\\''");
        format!(
            "urldb -C '{folder}' hook run {} \"$@\" || exit\n",
            self.name()
        )
    }

    pub(super) fn shim(self, project: &str, has_before: bool) -> String {
        let parts = SHIM
            .split_inclusive("\n\n")
            .filter(|part| has_before || !part.starts_with(CHAIN));
        let (mut shim, _) = split_project_lines(&parts.collect::<String>());
        shim = shim.replace("/pre-commit\n", &format!("/{}\n", self.name()));
        shim + &self.line(project)
    }

    /// Whether a shim has all lines that this version writes, in their order. Users may add lines.
    /// `has_before` is true if there was another hook.
    pub(super) fn is_current(self, text: &str, has_before: bool) -> bool {
        let current = self.shim(".", has_before);
        let (current, _) = split_project_lines(&current);
        let mut lines = text.lines();
        current
            .lines()
            .all(|wanted| lines.any(|line| line == wanted))
    }
}

/// A shim without the lines of its projects, and those lines.
pub(super) fn split_project_lines(shim: &str) -> (String, Vec<&str>) {
    let (lines, rest): (Vec<&str>, Vec<&str>) = shim
        .split_inclusive('\n')
        .partition(|line| line.starts_with("urldb -C ") && line.contains(" hook run "));
    (rest.concat(), lines)
}
