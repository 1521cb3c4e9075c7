//! Parses tokens into rules. After a syntax error the parser continues at the next `;` or `}`, so
//! that one pass finds all errors.

use std::ops::Range;

use urldb_text::Code;

use super::lex::{StringLiteral, Token, TokenKind, tokenize};
use super::report::Report;
use super::url_parts::UrlPart;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Domain,
    Website,
}

/// A value and its byte range in the script.
#[derive(Debug, Clone)]
pub(crate) struct Spanned<T> {
    pub(crate) node: T,
    pub(crate) span: Range<usize>,
}

/// A rule as parsed, before any check.
#[derive(Debug)]
pub(crate) struct ParsedRule {
    pub(crate) name: Spanned<String>,
    pub(crate) items: Vec<RuleItem>,
}

/// An item of a rule, as in the grammar.
#[derive(Debug)]
pub(crate) enum RuleItem {
    Declaration(Declaration),
    Protocol(Spanned<StringLiteral>),
    Port(Spanned<StringLiteral>),
    Property(Property),
}

/// `path = …` or `parameters = …`: a property of the whole path, or of all parameters.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) part: UrlPart,
    /// The word after the `=`.
    pub(crate) span: Range<usize>,
    pub(crate) kind: PropertyKind,
}

/// A property, with its argument.
#[derive(Debug)]
pub(crate) enum PropertyKind {
    Lower,
    Strict,
    /// With the status.
    Redirect(Spanned<StringLiteral>),
    /// With the name of the parameter.
    Parameter(Spanned<StringLiteral>),
}

#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) part: UrlPart,
    pub(crate) required: bool,
    /// The namespaces of the variable, from the outside: those of blocks, then its own.
    pub(crate) namespaces: Vec<Spanned<String>>,
    pub(crate) name: Spanned<String>,
    pub(crate) pattern: PatternText,
    pub(crate) function: VariableFunction,
}

/// The first argument of a variable.
#[derive(Debug)]
pub(crate) struct PatternText {
    pub(crate) text: Spanned<StringLiteral>,
    /// Whether `lower()` puts the matched text into lower case.
    pub(crate) is_lower: bool,
}

/// The function of a variable, with its second argument.
#[derive(Debug)]
pub(crate) enum VariableFunction {
    /// No function: a plain string.
    Group,
    Website(Spanned<StringLiteral>),
    Flag(Option<Spanned<StringLiteral>>),
    /// With the status.
    Redirect(Spanned<StringLiteral>),
}

/// A syntax error, which the report already has.
struct SyntaxError;

type Parsed<T> = Result<T, SyntaxError>;

/// The rules of `source`; incomplete where the report has errors.
pub(crate) fn parse(source: &str, language: Language, report: &mut Report) -> Vec<ParsedRule> {
    let mut parser = Parser {
        source,
        language,
        tokens: tokenize(source, report),
        next: 0,
        report,
    };
    let mut rules = Vec::new();
    while parser.peek().kind != TokenKind::End {
        match parser.rule() {
            Ok(rule) => rules.push(rule),
            Err(SyntaxError) => parser.skip_rule(),
        }
    }
    if rules.is_empty() && parser.report.errors == 0 {
        let message = "there is no rule: remove the file, or write `NAME { ... };`";
        let end = parser.peek().span.clone();
        parser.report.add(Code::RuleEmpty, end, message);
    }
    rules
}

struct Parser<'a> {
    source: &'a str,
    language: Language,
    tokens: Vec<Token>,
    next: usize,
    report: &'a mut Report,
}

impl Parser<'_> {
    fn rule(&mut self) -> Parsed<ParsedRule> {
        let name = self.name("the name of a rule")?;
        self.expect("{")?;
        let errors = self.report.errors;
        let items = self.items();
        if items.is_empty() && self.report.errors == errors {
            let message = "this rule has nothing in it";
            self.report.add(Code::RuleEmpty, name.span.clone(), message);
        }
        Ok(ParsedRule { name, items })
    }

    /// The items up to the `}` of a rule.
    ///
    /// Open namespaces are a list, without recursion: a script could open more than the stack holds.
    fn items(&mut self) -> Vec<RuleItem> {
        let mut items = Vec::new();
        // Each open namespace, and the counts of items and errors before it.
        let mut open: Vec<(Spanned<String>, (usize, usize))> = Vec::new();
        loop {
            let span = self.peek().span.clone();
            if self.take("}") {
                let Some((name, before)) = open.pop() else {
                    if !self.take(";") {
                        let message = "`;` is missing after this brace";
                        self.report.add(Code::RuleSemicolon, span, message);
                    }
                    return items;
                };
                if (items.len(), self.report.errors) == before {
                    let message = "this namespace has nothing in it";
                    self.report.add(Code::RuleEmpty, name.span, message);
                }
                self.take(";");
            } else if self.peek().kind == TokenKind::End {
                self.unexpected("`}`");
                return items;
            } else if self.take("namespace") {
                match self.namespace() {
                    Ok(name) => open.push((name, (items.len(), self.report.errors))),
                    Err(SyntaxError) => self.skip_item(),
                }
            } else {
                match self.item(&open) {
                    Ok(item) => items.push(item),
                    Err(SyntaxError) => self.skip_item(),
                }
            }
        }
    }

    /// The name of a namespace and its `{`.
    fn namespace(&mut self) -> Parsed<Spanned<String>> {
        let name = self.name("a namespace")?;
        self.expect("{")?;
        Ok(name)
    }

    fn item<T>(&mut self, open: &[(Spanned<String>, T)]) -> Parsed<RuleItem> {
        let website = self.language == Language::Website;
        let item = if website && self.take("protocol") {
            self.expect("=")?;
            RuleItem::Protocol(self.text()?)
        } else if website && self.take("port") {
            self.expect("=")?;
            RuleItem::Port(self.text()?)
        } else if website && self.take("parameters") {
            RuleItem::Property(self.property(UrlPart::Query)?)
        } else {
            let part = if !website {
                UrlPart::Host
            } else if self.take("query") {
                UrlPart::Query
            } else {
                UrlPart::Path
            };
            if part == UrlPart::Path && self.take("path") && self.spelling() == "=" {
                RuleItem::Property(self.property(part)?)
            } else {
                let blocks = open.iter().map(|(name, _)| name.clone()).collect();
                RuleItem::Declaration(self.declaration(part, blocks)?)
            }
        };
        self.expect(";")?;
        Ok(item)
    }

    /// The `=` of a property, and the words after it.
    fn property(&mut self, part: UrlPart) -> Parsed<Property> {
        self.expect("=")?;
        let span = self.peek().span.clone();
        let in_query = part == UrlPart::Query;
        let kind = if self.take("lower") {
            PropertyKind::Lower
        } else if in_query && self.take("strict") {
            PropertyKind::Strict
        } else if in_query && self.take("redirect") {
            PropertyKind::Redirect(self.argument()?)
        } else if !in_query && self.take("parameter") {
            PropertyKind::Parameter(self.argument()?)
        } else {
            return Err(self.unexpected(if in_query {
                "`strict`, `redirect` or `lower`"
            } else {
                "`parameter` or `lower`"
            }));
        };
        Ok(Property { part, span, kind })
    }

    /// A string in parentheses.
    fn argument(&mut self) -> Parsed<Spanned<StringLiteral>> {
        self.expect("(")?;
        let text = self.text()?;
        self.expect(")")?;
        Ok(text)
    }

    fn declaration(&mut self, part: UrlPart, blocks: Vec<Spanned<String>>) -> Parsed<Declaration> {
        let required = self.take("required");
        if !required && !self.take("optional") {
            return Err(self.unexpected("`optional` or `required`"));
        }
        let mut namespaces = blocks;
        let mut name = self.variable_name(part)?;
        while self.take("::") {
            namespaces.push(name);
            name = self.variable_name(part)?;
        }
        self.expect("=")?;
        let (pattern, function) = self.value()?;
        Ok(Declaration {
            part,
            required,
            namespaces,
            name,
            pattern,
            function,
        })
    }

    /// The name of a variable; that of a query variable may be a string, since a site chooses the names of
    /// its parameters.
    fn variable_name(&mut self, part: UrlPart) -> Parsed<Spanned<String>> {
        let is_text = matches!(self.peek().kind, TokenKind::String(_));
        if part != UrlPart::Query || !is_text {
            return self.name("the name of a variable");
        }
        let Spanned { node, span } = self.text()?;
        Ok(Spanned {
            node: node.value,
            span,
        })
    }

    fn value(&mut self) -> Parsed<(PatternText, VariableFunction)> {
        let functions = ["website", "flag", "redirect"];
        let Some(function) = functions.into_iter().find(|name| self.take(name)) else {
            return Ok((self.pattern()?, VariableFunction::Group));
        };
        self.expect("(")?;
        let pattern = self.pattern()?;
        let function = if function == "flag" {
            let default = self.take(",").then(|| self.text()).transpose()?;
            VariableFunction::Flag(default)
        } else {
            self.expect(",")?;
            let text = self.text()?;
            if function == "website" {
                VariableFunction::Website(text)
            } else {
                VariableFunction::Redirect(text)
            }
        };
        self.expect(")")?;
        Ok((pattern, function))
    }

    fn pattern(&mut self) -> Parsed<PatternText> {
        let is_lower = self.take("lower");
        let text = if is_lower {
            self.argument()?
        } else {
            self.text()?
        };
        Ok(PatternText { text, is_lower })
    }

    fn peek(&self) -> &Token {
        // The last token is the end, which the parser never passes.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn spelling(&self) -> &str {
        self.source.get(self.peek().span.clone()).unwrap_or("")
    }

    /// Consumes the punctuation or keyword `word` if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let found = matches!(self.peek().kind, TokenKind::Punctuation | TokenKind::Name)
            && self.spelling() == word;
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{mark}`")))
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Spanned<String>> {
        if self.peek().kind != TokenKind::Name {
            return Err(self.unexpected(what));
        }
        let (node, span) = (self.spelling().to_owned(), self.peek().span.clone());
        if is_keyword(&node, self.language) {
            let message = format!("`{node}` is a word of the language: a name is needed here");
            self.report.add(Code::RuleSyntax, span, message);
            return Err(SyntaxError);
        }
        self.next += 1;
        Ok(Spanned { node, span })
    }

    fn text(&mut self) -> Parsed<Spanned<StringLiteral>> {
        let Token { kind, span } = self.peek().clone();
        let TokenKind::String(node) = kind else {
            return Err(self.unexpected("a string"));
        };
        self.next += 1;
        Ok(Spanned { node, span })
    }

    fn unexpected(&mut self, wanted: &str) -> SyntaxError {
        let span = self.peek().span.clone();
        let message = match &self.peek().kind {
            TokenKind::End => format!("the script ends where {wanted} is needed"),
            TokenKind::String(_) => format!("a string stands where {wanted} is needed"),
            TokenKind::Name | TokenKind::Punctuation => {
                format!("`{}` stands where {wanted} is needed", self.spelling())
            }
        };
        self.report.add(Code::RuleSyntax, span, message);
        SyntaxError
    }

    /// Skips the rest of an item that has a syntax error.
    fn skip_item(&mut self) {
        while self.peek().kind != TokenKind::End && self.spelling() != "}" {
            if self.take(";") {
                return;
            }
            self.next += 1;
        }
    }

    /// Skips the rest of a rule that has a syntax error.
    fn skip_rule(&mut self) {
        while self.peek().kind != TokenKind::End {
            if self.take("}") {
                self.take(";");
                return;
            }
            self.next += 1;
        }
    }
}

fn is_keyword(word: &str, language: Language) -> bool {
    let website = ["protocol", "port", "path", "query"];
    ["namespace", "optional", "required", "website", "flag"].contains(&word)
        || (language == Language::Website && website.contains(&word))
}
