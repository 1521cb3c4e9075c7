//! The codes of findings in text files. A code never changes its meaning.

use std::fmt;

crate::named_enum! {
    /// The severity of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(
        feature = "serde",
        derive(serde::Serialize, serde::Deserialize),
        serde(rename_all = "kebab-case")
    )]
    #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
    pub enum Severity {
        /// A promise is broken, a file has to change, or data is lost.
        Error = "error",
        /// Worth knowing; the promise holds, the file can be used.
        Warning = "warning",
    }
}

/// The subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A domain file: `docs/findings.md`.
    DomainFile,
    /// A file of site rules, or a record that goes against them: `docs/findings.md`.
    SiteRules,
    /// The language of site rules: `docs/site-rules.md`.
    RuleScript,
    /// A list that the database follows: `docs/lists.md`.
    List,
    /// `urldb.toml`: `docs/configuration.md`.
    Configuration,
}

/// Declares [`Code`] with subjects, severities, names and descriptions in one place.
macro_rules! codes {
    ($($subject:ident { $($variant:ident $severity:ident $name:literal $description:literal,)* })*) => {
        /// The stable code of a finding in a text file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $description] $variant,)*)*
        }

        impl Code {
            /// Every code: by subject, and in alphabetical order.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The code in kebab case, as users see it.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// One line that says what the code means.
            pub fn description(self) -> &'static str {
                match self { $($(Self::$variant => $description,)*)* }
            }

            /// The severity of findings with this code.
            pub fn severity(self) -> Severity {
                match self { $($(Self::$variant => Severity::$severity,)*)* }
            }

            /// Whether nothing was read of a file with this finding.
            pub fn hides_file(self) -> bool {
                matches!(self, Self::LineTooLong | Self::RecordTooLong | Self::UnreadableFile)
            }

            /// Whether `[lint] allow` may name the code: only `urldb lint` finds it, and it is never an error.
            pub fn may_be_allowed(self) -> bool {
                use Code::{ExpiringUrl, ForgeArchive, MovingBranch, MovingName, SharePage, WeakDigest};
                matches!(
                    self,
                    ExpiringUrl | ForgeArchive | MovingBranch | MovingName | SharePage | WeakDigest
                )
            }

            /// The subject of findings with this code.
            pub fn subject(self) -> Subject {
                match self { $($(Self::$variant => Subject::$subject,)*)* }
            }
        }
    };
}

codes! {
    DomainFile {
        AnchorOrTag Error "anchor-or-tag" "an anchor, alias, tag or merge key, which the format does not have",
        BadCname Error "bad-cname" "a cname that is not a valid host name, or repeats the file's own",
        BadContentLength Error "bad-content-length" "a `content-length` that is not a number of bytes",
        BadDigest Error "bad-digest" "a digest with a wrong number of lower-case hexadecimal digits, or of a HEAD request",
        BadFileName Error "bad-file-name" "a file name that is not a host name in lower case plus `.yaml`",
        BadPath Error "bad-path" "a `_path` that no HTTP request could carry as it stands",
        BadStatus Error "bad-status" "a `status` that is not an HTTP status code",
        BadValue Error "bad-value" "a value of the wrong kind for its key",
        ByteOrderMark Error "byte-order-mark" "a byte order mark at the start of the file",
        ConflictMarker Error "conflict-marker" "a conflict marker left by a merge",
        DuplicateKey Error "duplicate-key" "a key that occurs twice in one mapping",
        DuplicateRecord Error "duplicate-record" "two records for the same request",
        ExpiredMute Warning "expired-mute" "a `mute-until` that has passed",
        ExpiringUrl Warning "expiring-url" "a static URL with a signature that ends",
        ForgeArchive Warning "forge-archive" "static URLs of archives that a forge makes for requests",
        InvalidUtf8 Error "invalid-utf8" "bytes that are not UTF-8",
        LineTooLong Error "line-too-long" "a line of more than 1 MiB",
        MissingMetadata Error "missing-metadata" "a file that does not start with a metadata document",
        MissingPath Error "missing-path" "a record without `_path`",
        MovingBranch Warning "moving-branch" "static URLs of files of a branch",
        MovingName Warning "moving-name" "static URLs for the newest version, such as `latest`",
        NotAFile Error "not-a-file" "a symbolic link or a submodule in the place of a regular file",
        NotAMapping Error "not-a-mapping" "a document that is not a mapping of keys to values",
        NotCanonical Error "not-canonical" "formatting that differs from the canonical form",
        PathNotCanonical Warning "path-not-canonical" "a `_path` that `add` would spell in another way",
        RecordTooLong Error "record-too-long" "a record of more than 4 MB",
        SharePage Warning "share-page" "static URLs of pages that show a file in place of sending it",
        SyntaxError Error "syntax-error" "text that is not YAML",
        UnknownCategory Error "unknown-category" "a category that looks like a misspelling of one that urldb acts on",
        UnknownKey Error "unknown-key" "a key that looks like a misspelling of a known one",
        UnmergedFile Error "unmerged-file" "a staged file with a merge conflict that is not resolved",
        UnreadableFile Error "unreadable-file" "a file that cannot be read, a link out of the database, or a pointer of Git LFS",
        UnsortedKeys Error "unsorted-keys" "keys that are not in sorted order",
        UnsortedList Error "unsorted-list" "a list that is not sorted, or repeats an item",
        UnsortedRecords Error "unsorted-records" "records that are not in the order of their paths",
        WeakDigest Warning "weak-digest" "records that promise only an MD5 or a SHA-1",
    }
    SiteRules {
        MissingRedirect Error "missing-redirect" "a record of a retired option that does not promise the redirect to the page",
        NotAdmitted Error "not-admitted" "a record whose URL the site rules refuse",
        PageNotCanonical Warning "page-not-canonical" "a record that `add` would spell in another way because of site rules",
        RuleFile Error "rule-file" "a file of site rules whose name or bytes cannot be right",
        SamePage Error "same-page" "two records for what is one page to the site rules",
        UnknownParameter Error "unknown-parameter" "a URL with a parameter that the site rules do not know",
    }
    RuleScript {
        RuleAnchor Warning "rule-anchor" "an anchor or word boundary in a pattern, which is anchored anyway",
        RuleControlCharacter Warning "rule-control-character" "a control character in a pattern, such as the backspace that `\\b` is in a string",
        RuleDuplicate Error "rule-duplicate" "a rule, variable or setting that is there twice",
        RuleEmpty Error "rule-empty" "a script without rules, or a rule or namespace with nothing in it",
        RuleEscape Error "rule-escape" "an escape in a string that stands for no character",
        RuleNamespace Error "rule-namespace" "a namespace that does not exist",
        RuleOfficial Error "rule-official" "two official positions for one name",
        RuleParameter Error "rule-parameter" "a name that no parameter of a query has",
        RulePattern Error "rule-pattern" "a pattern that is not a regular expression, is too large, or captures more than once",
        RulePort Error "rule-port" "a port that is not a number from 1 to 65535",
        RuleProtocol Error "rule-protocol" "a protocol other than HTTP, HTTPS, HTTP|HTTPS and any",
        RuleRedirect Error "rule-redirect" "a redirect with a status other than 301 and 302, or of a variable that cannot be retired",
        RuleReplacement Error "rule-replacement" "a replacement that cannot stand in a host or path",
        RuleReplacementUnmatched Warning "rule-replacement-unmatched" "a replacement that its own pattern does not match",
        RuleRequiredDefault Error "rule-required-default" "a default for a flag that is required",
        RuleRequiredFlag Warning "rule-required-flag" "a required flag, without which the page is not admitted",
        RuleSemicolon Warning "rule-semicolon" "a semicolon missing after the closing brace of a rule",
        RuleSeparator Warning "rule-separator" "a pattern that does not end in a separator",
        RuleSyntax Error "rule-syntax" "text that is not in the language of site rules",
        RuleTooLarge Error "rule-too-large" "a script over 64 KiB, more than 64 rules, or more than 32 variables in a rule",
    }
    List {
        ListContradiction Error "list-contradiction" "two lists, or a list and a record, that promise one URL differently",
        NotSynced Error "not-synced" "a record that differs from the list that has its URL",
        OtherPage Error "other-page" "a promise of a list about a URL that site rules take to another page",
        RepeatedSource Warning "repeated-source" "a file that two sources read",
    }
    Configuration {
        BadConfiguration Error "bad-configuration" "a key or value that `urldb.toml` may not have",
        UnusedFilter Warning "unused-filter" "a host, a category or an owner in a filter of a notifier that no record has",
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_kebab_case_and_in_order() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        let is_kebab = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        assert!(names.iter().all(|name| name.bytes().all(is_kebab)));
        let in_order = |pair: &[Code]| {
            pair[0].subject() != pair[1].subject() || pair[0].as_str() < pair[1].as_str()
        };
        assert!(Code::ALL.windows(2).all(in_order));
        assert!(Code::ALL.iter().all(|code| !code.description().is_empty()));
        assert_eq!(Code::PathNotCanonical.severity(), Severity::Warning);
        assert_eq!(Code::BadPath.severity(), Severity::Error);
    }
}
