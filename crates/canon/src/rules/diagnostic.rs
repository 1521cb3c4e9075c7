//! What is wrong with a script, and where.

use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The script is not used.
    Error,
    /// The script works, but perhaps not as meant.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Declares [`Code`] with names, severities and descriptions in one place.
macro_rules! codes {
    ($($variant:ident $severity:ident $name:literal $description:literal,)*) => {
        /// The stable code of a diagnostic.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $description] $variant,)*
        }

        impl Code {
            /// Every code, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code in kebab case, as users see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// One line that says what the code means.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// How bad it is; the same for all diagnostics of a code.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    RuleAnchor Warning "rule-anchor" "an anchor or word boundary in a pattern, which is anchored anyway",
    RuleControlCharacter Warning "rule-control-character" "a control character in a pattern, such as the backspace that `\\b` is in a string",
    RuleDuplicate Error "rule-duplicate" "a rule, variable or setting that is there twice",
    RuleEmpty Error "rule-empty" "a script without rules, or a rule or namespace with nothing in it",
    RuleEscape Error "rule-escape" "an escape in a string that stands for no character",
    RuleNamespace Error "rule-namespace" "a namespace that does not exist",
    RuleOfficial Error "rule-official" "two official positions for one name",
    RulePattern Error "rule-pattern" "a pattern that is not a regular expression, is too large, or captures more than once",
    RulePort Error "rule-port" "a port that is not a number from 1 to 65535",
    RuleProtocol Error "rule-protocol" "a protocol other than HTTP, HTTPS, HTTP|HTTPS and any",
    RuleReplacement Error "rule-replacement" "a replacement that cannot stand in a host or path",
    RuleReplacementUnmatched Warning "rule-replacement-unmatched" "a replacement that its own pattern does not match",
    RuleRequiredDefault Error "rule-required-default" "a default for a flag that is required",
    RuleRequiredFlag Warning "rule-required-flag" "a required flag, without which the page is not admitted",
    RuleSemicolon Warning "rule-semicolon" "a semicolon missing after the closing brace of a rule",
    RuleSeparator Warning "rule-separator" "a pattern that does not end in a separator",
    RuleSyntax Error "rule-syntax" "text that is not in the language of site rules",
    RuleTooLarge Error "rule-too-large" "a script over 64 KiB, more than 64 rules, or more than 32 variables in a rule",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something wrong with a script; displayed as `LINE:COLUMN: CODE: MESSAGE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of mistake it is.
    pub code: Code,
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters from 1.
    pub column: usize,
    /// How many characters are meant, at least 1; all are on that line.
    pub length: usize,
    /// What is wrong and what to do: lower case, no trailing dot.
    pub message: String,
}

impl Diagnostic {
    /// Shorthand for that of the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "{line}:{column}: {code}: {message}")
    }
}
