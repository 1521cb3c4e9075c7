//! Checks of the properties of a rule, and of the status of redirects.

use std::ops::Range;

use urldb_text::Code;

use super::check::Checker;
use super::lex::StringLiteral;
use super::parse::{Declaration, ParsedRule, Property, PropertyKind, RuleItem, Spanned};
use super::query::lower_case;
use super::script::{RuleProperties, UnknownParameters};
use super::url_parts::UrlPart;
use crate::identity::check_path;

impl Checker<'_> {
    /// The properties of a rule.
    pub(crate) fn properties(&mut self, rule: &ParsedRule) -> RuleProperties {
        let mut properties = RuleProperties::default();
        let mut parameter = None;
        for item in &rule.items {
            let RuleItem::Property(property) = item else {
                continue;
            };
            let is_repeated = match (&property.kind, property.part) {
                (PropertyKind::Lower, UrlPart::Query) => {
                    std::mem::replace(&mut properties.lower_query, true)
                }
                (PropertyKind::Lower, _) => std::mem::replace(&mut properties.lower_path, true),
                (PropertyKind::Strict, _) => {
                    unknown_again(&mut properties, UnknownParameters::Refused)
                }
                (PropertyKind::Redirect(text), _) => {
                    let status = self.redirect_status(text).unwrap_or(301);
                    unknown_again(&mut properties, UnknownParameters::Redirected(status))
                }
                (PropertyKind::Parameter(name), _) => parameter.replace(name).is_some(),
            };
            if is_repeated {
                self.report_repeated_property(property);
            }
        }
        if let Some(name) = parameter {
            let (span, lower) = (name.span.clone(), properties.lower_query);
            self.check_parameter_name(&name.node.value, span, lower);
            properties.path_parameter = Some(name.node.value.clone());
        }
        for item in &rule.items {
            if let RuleItem::Declaration(Declaration {
                part: UrlPart::Query,
                name,
                ..
            }) = item
            {
                self.check_parameter_name(&name.node, name.span.clone(), properties.lower_query);
            }
        }
        properties
    }

    fn report_repeated_property(&mut self, property: &Property) {
        let message = match (&property.kind, property.part) {
            (PropertyKind::Lower, UrlPart::Query) => {
                "the rule has the parameters in lower case above"
            }
            (PropertyKind::Lower, _) => "the rule has the path in lower case above",
            (PropertyKind::Parameter(_), _) => "the rule has a parameter for the path above",
            (PropertyKind::Strict | PropertyKind::Redirect(_), _) => {
                "the rule has an answer to unknown parameters above"
            }
        };
        self.report
            .add(Code::RuleDuplicate, property.span.clone(), message);
    }

    /// The status of a redirect, 301 or 302.
    pub(crate) fn redirect_status(&mut self, text: &Spanned<StringLiteral>) -> Option<u16> {
        match text.node.value.as_str() {
            "301" => Some(301),
            "302" => Some(302),
            _ => {
                let message = "the status of a redirect is \"301\" or \"302\"";
                self.report
                    .add(Code::RuleRedirect, text.span.clone(), message);
                None
            }
        }
    }

    /// Reports a name that no parameter can have.
    fn check_parameter_name(&mut self, name: &str, span: Range<usize>, is_lower: bool) {
        let is_name = !name.is_empty()
            && !name.contains(['&', '=', '#'])
            && check_path(&format!("/?{name}")).is_ok();
        let message = if !is_name {
            "no parameter has this name: write it as in URLs"
        } else if is_lower && lower_case(name) != name {
            "no parameter has this name: the rule puts all parameters into lower case"
        } else {
            return;
        };
        self.report.add(Code::RuleParameter, span, message);
    }
}

/// Sets the answer to unknown parameters, and says whether the rule has one above.
fn unknown_again(properties: &mut RuleProperties, unknown: UnknownParameters) -> bool {
    let before = std::mem::replace(&mut properties.unknown_parameters, unknown);
    before != UnknownParameters::Kept
}
