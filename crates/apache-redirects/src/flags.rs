//! The flags of rules and conditions, and statuses.

/// The effects of the flags of a `RewriteRule`.
#[derive(Debug, Default)]
pub(crate) struct RuleFlags {
    pub(crate) ignores_case: bool,
    /// The status of `R`, `F` and `G`.
    pub(crate) status: Option<u16>,
    /// `C`: without a match the next rule is skipped.
    pub(crate) is_chained: bool,
    /// `B` and its like: captures are escaped.
    pub(crate) escapes_captures: bool,
    /// `S`: after a match so many rules are skipped.
    pub(crate) skipped: usize,
    pub(crate) next: NextRule,
}

/// The rule that is looked at after a match.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextRule {
    /// The next one.
    #[default]
    Next,
    /// None: `L`, `END` or `PT`.
    End,
    /// The first one: `N`.
    Again,
    /// None, since another server is asked: `P`.
    Proxy,
}

/// Flags of rules without effect on the answer, in lower case.
const WITHOUT_EFFECT: &[&str] = &[
    "co",
    "cookie",
    "dpi",
    "discardpath",
    "e",
    "env",
    "h",
    "handler",
    "ne",
    "noescape",
    "ns",
    "nosubreq",
    "qsa",
    "qsappend",
    "qsd",
    "qsdiscard",
    "qsl",
    "qslast",
    "t",
    "type",
    "unsafeallow3f",
    "unsafeprefixstat",
];

impl RuleFlags {
    /// # Errors
    /// A sentence, if Apache refuses the flags. Then it answers every URL of the folder with 500.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, String> {
        let mut flags = Self::default();
        for (name, value) in split(text)? {
            match &*name {
                "nc" | "nocase" => flags.ignores_case = true,
                "r" | "redirect" => flags.status = Some(redirect_status(value)?),
                "f" | "forbidden" => flags.status = Some(403),
                "g" | "gone" => flags.status = Some(410),
                "l" | "last" | "end" | "pt" | "passthrough" if flags.next != NextRule::Proxy => {
                    flags.next = NextRule::End;
                }
                "l" | "last" | "end" | "pt" | "passthrough" => {}
                "b" | "bctls" | "bne" | "bnp" | "backrefnoplus" => flags.escapes_captures = true,
                "c" | "chain" => flags.is_chained = true,
                "n" | "next" => flags.next = NextRule::Again,
                "p" | "proxy" => flags.next = NextRule::Proxy,
                "s" | "skip" => {
                    let number = value.parse();
                    flags.skipped =
                        number.map_err(|_| format!("S={value} is no number of rules"))?;
                }
                known if WITHOUT_EFFECT.contains(&known) => {}
                unknown => return Err(format!("there is no flag {unknown:?}")),
            }
        }
        Ok(flags)
    }
}

/// The flags of a `RewriteCond`.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ConditionFlags {
    pub(crate) ignores_case: bool,
    /// Joined to the next condition by `[OR]`.
    pub(crate) is_or: bool,
}

impl ConditionFlags {
    /// # Errors
    /// As for [`RuleFlags::parse`].
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, String> {
        let mut flags = Self::default();
        for (name, _) in split(text)? {
            match &*name {
                "nc" | "nocase" => flags.ignores_case = true,
                "or" | "ornext" => flags.is_or = true,
                "nv" | "novary" => {}
                unknown => return Err(format!("there is no flag {unknown:?}")),
            }
        }
        Ok(flags)
    }
}

/// The name of each flag in lower case, and its value.
fn split(text: Option<&str>) -> Result<Vec<(String, &str)>, String> {
    let Some(text) = text else {
        return Ok(vec![]);
    };
    let flags = text
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'))
        .ok_or_else(|| {
            format!("the flags {text} are not within brackets; they must have no blank")
        })?
        .split(',')
        .map(|flag| {
            let (name, value) = flag.trim().split_once('=').unwrap_or((flag.trim(), ""));
            (name.to_ascii_lowercase(), value)
        });
    Ok(flags.filter(|(name, _)| !name.is_empty()).collect())
}

fn redirect_status(value: &str) -> Result<u16, String> {
    match &*value.to_ascii_lowercase() {
        "" | "temp" => return Ok(302),
        "permanent" => return Ok(301),
        "seeother" => return Ok(303),
        _ => {}
    }
    value
        .parse()
        .ok()
        .filter(|it| (100..600).contains(it))
        .ok_or_else(|| format!("R={value} is no status"))
}

/// The status that the first word of a `Redirect` names; `None` if it names none.
pub(crate) fn status_of(word: &str) -> Option<u16> {
    match &*word.to_ascii_lowercase() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        digits if digits.starts_with(|char: char| char.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    }
}

/// Whether a response with the status is a redirect to a `Location`, and is followed.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_apache_reads_them() {
        let flags = RuleFlags::parse(Some("[r=SEEOTHER, nc,NE,L,]")).unwrap();
        assert_eq!((flags.status, flags.next), (Some(303), NextRule::End));
        assert!(flags.ignores_case);
        for (text, status) in [
            ("[R]", 302),
            ("[redirect=permanent]", 301),
            ("[R=308]", 308),
            ("[F]", 403),
            ("[gone]", 410),
        ] {
            assert_eq!(
                RuleFlags::parse(Some(text)).unwrap().status,
                Some(status),
                "{text}"
            );
        }
        assert_eq!(RuleFlags::parse(Some("[S=2,L]")).unwrap().skipped, 2);
        for text in ["[R=99]", "[R=x]", "R", "[R=301,", "[X]", "#", "[S]"] {
            RuleFlags::parse(Some(text)).unwrap_err();
        }
        let flags = ConditionFlags::parse(Some("[NC,OR]")).unwrap();
        assert!(flags.is_or && flags.ignores_case);
        ConditionFlags::parse(Some("[L]")).unwrap_err();
    }
}
