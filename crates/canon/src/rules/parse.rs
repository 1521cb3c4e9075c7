//! Tokens as rules. After a mistake it goes on at the next `;` or `}`, so that all are found.

use std::ops::Range;

use super::diagnostic::{Code, Report};
use super::lex::{Kind, Text, Token, tokens};
use super::trace::Part;

/// Which of the two languages a script is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Domain,
    Website,
}

/// Something and where it stands in the script.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) is: T,
    pub(crate) span: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: At<String>,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug)]
pub(crate) enum Item {
    Declaration(Declaration),
    Protocol(At<Text>),
    Port(At<Text>),
}

/// A variable as declared.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) part: Part,
    pub(crate) required: bool,
    /// The namespaces it is in, from the outside: of blocks, then its own.
    pub(crate) namespaces: Vec<At<String>>,
    pub(crate) name: At<String>,
    pub(crate) pattern: At<Text>,
    pub(crate) function: Function,
}

#[derive(Debug)]
pub(crate) enum Function {
    /// None: a plain string.
    Group,
    Website(At<Text>),
    Flag(Option<At<Text>>),
}

/// A mistake that has been reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

/// The rules of `source`. Where the report has errors they are not complete.
pub(crate) fn parse(source: &str, language: Language, report: &mut Report) -> Vec<Rule> {
    let mut parser = Parser {
        source,
        language,
        tokens: tokens(source, report),
        next: 0,
        report,
    };
    let mut rules = Vec::new();
    while parser.peek().kind != Kind::End {
        match parser.rule() {
            Ok(rule) => rules.push(rule),
            Err(Reported) => parser.skip_rule(),
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
    fn rule(&mut self) -> Parsed<Rule> {
        let name = self.name("the name of a rule")?;
        self.expect("{")?;
        let errors = self.report.errors;
        let items = self.items();
        if items.is_empty() && self.report.errors == errors {
            let message = "this rule has nothing in it";
            self.report.add(Code::RuleEmpty, name.span.clone(), message);
        }
        Ok(Rule { name, items })
    }

    /// Everything up to the `}` of a rule. Namespaces are a list and no recursion: a script
    /// could open more than the stack holds.
    fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        // Each open namespace, and how many items and errors were before it.
        let mut open: Vec<(At<String>, (usize, usize))> = Vec::new();
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
            } else if self.peek().kind == Kind::End {
                self.unexpected("`}`");
                return items;
            } else if self.take("namespace") {
                match self.block() {
                    Ok(name) => open.push((name, (items.len(), self.report.errors))),
                    Err(Reported) => self.skip_item(),
                }
            } else {
                match self.item(&open) {
                    Ok(item) => items.push(item),
                    Err(Reported) => self.skip_item(),
                }
            }
        }
    }

    /// The name of a namespace and its `{`.
    fn block(&mut self) -> Parsed<At<String>> {
        let name = self.name("a namespace")?;
        self.expect("{")?;
        Ok(name)
    }

    fn item<T>(&mut self, open: &[(At<String>, T)]) -> Parsed<Item> {
        let website = self.language == Language::Website;
        let item = if website && self.take("protocol") {
            self.expect("=")?;
            Item::Protocol(self.text()?)
        } else if website && self.take("port") {
            self.expect("=")?;
            Item::Port(self.text()?)
        } else {
            let part = if !website {
                Part::Host
            } else if self.take("query") {
                Part::Query
            } else {
                self.take("path");
                Part::Path
            };
            let blocks = open.iter().map(|(name, _)| name.clone()).collect();
            Item::Declaration(self.declaration(part, blocks)?)
        };
        self.expect(";")?;
        Ok(item)
    }

    fn declaration(&mut self, part: Part, blocks: Vec<At<String>>) -> Parsed<Declaration> {
        let required = self.take("required");
        if !required && !self.take("optional") {
            return Err(self.unexpected("`optional` or `required`"));
        }
        let mut namespaces = blocks;
        let mut name = self.name("the name of a variable")?;
        while self.take("::") {
            namespaces.push(name);
            name = self.name("the name of a variable")?;
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

    fn value(&mut self) -> Parsed<(At<Text>, Function)> {
        let website = self.take("website");
        if !website && !self.take("flag") {
            return Ok((self.text()?, Function::Group));
        }
        self.expect("(")?;
        let pattern = self.text()?;
        let function = if website {
            self.expect(",")?;
            Function::Website(self.text()?)
        } else if self.take(",") {
            Function::Flag(Some(self.text()?))
        } else {
            Function::Flag(None)
        };
        self.expect(")")?;
        Ok((pattern, function))
    }

    fn peek(&self) -> &Token {
        // The last token is the end, which is never passed.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn spelling(&self) -> &str {
        self.source.get(self.peek().span.clone()).unwrap_or("")
    }

    /// Passes over the mark or keyword `word`, if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let found = matches!(self.peek().kind, Kind::Mark | Kind::Name) && self.spelling() == word;
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

    fn name(&mut self, what: &str) -> Parsed<At<String>> {
        if self.peek().kind != Kind::Name {
            return Err(self.unexpected(what));
        }
        let (is, span) = (self.spelling().to_owned(), self.peek().span.clone());
        if is_keyword(&is, self.language) {
            let message = format!("`{is}` is a word of the language: a name is needed here");
            self.report.add(Code::RuleSyntax, span, message);
            return Err(Reported);
        }
        self.next += 1;
        Ok(At { is, span })
    }

    fn text(&mut self) -> Parsed<At<Text>> {
        let Token { kind, span } = self.peek().clone();
        let Kind::Text(is) = kind else {
            return Err(self.unexpected("a string"));
        };
        self.next += 1;
        Ok(At { is, span })
    }

    fn unexpected(&mut self, wanted: &str) -> Reported {
        let span = self.peek().span.clone();
        let message = match &self.peek().kind {
            Kind::End => format!("the script ends where {wanted} is needed"),
            Kind::Text(_) => format!("a string stands where {wanted} is needed"),
            Kind::Name | Kind::Mark => {
                format!("`{}` stands where {wanted} is needed", self.spelling())
            }
        };
        self.report.add(Code::RuleSyntax, span, message);
        Reported
    }

    /// Passes over the rest of an item that could not be read.
    fn skip_item(&mut self) {
        while self.peek().kind != Kind::End && self.spelling() != "}" {
            if self.take(";") {
                return;
            }
            self.next += 1;
        }
    }

    /// Passes over the rest of a rule that could not be read.
    fn skip_rule(&mut self) {
        while self.peek().kind != Kind::End {
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
