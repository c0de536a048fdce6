//! The tools and prompts that a test's source calls, read from its tokens.
//!
//! A literal counts as a called name if it is an argument of a calling function, the `name` in a request's parameters,
//! or an item of a list that a calling function iterates over. A function is a calling function if it belongs to the
//! harness (`CALLING_FUNCTIONS`), or is defined in the file and uses another calling function.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The calling functions of the harness.
const CALLING_FUNCTIONS: [&str; 2] = ["call", "start_call"];

/// The methods of requests that count as calls.
const CALLING_METHODS: [&str; 2] = ["tools/call", "prompts/get"];

/// All literals of a source that are called names, plus some that match no guest's tool.
pub(super) fn in_source(text: &str) -> BTreeSet<String> {
    let tokens: TokenStream = text.parse().expect("valid Rust tokens");
    let mut file = File::default();
    file.read(tokens, None);
    file.find_callers();
    file.called()
}

/// The functions, literals and calls of a file.
#[derive(Default)]
struct File {
    /// The functions in order of definition.
    functions: Vec<Function>,
    /// The literals of each constant and variable.
    lists: BTreeMap<String, Vec<String>>,
    /// The values of `name` in requests.
    named: BTreeSet<String>,
    /// The calling functions.
    callers: BTreeSet<String>,
}

/// The content of a function, including nested functions.
#[derive(Default)]
struct Function {
    name: String,
    /// The identifiers in the body.
    words: BTreeSet<String>,
    /// The called functions with their literal arguments.
    calls: Vec<(String, Vec<String>)>,
    /// The literals in the function's arrays.
    listed: Vec<String>,
    literals: BTreeSet<String>,
}

impl File {
    /// Reads the content of one pair of brackets, inside the function with this index.
    fn read(&mut self, tokens: TokenStream, inside: Option<usize>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut function = inside;
        for (at, token) in tokens.iter().enumerate() {
            let before = |count: usize| at.checked_sub(count).and_then(|at| word(&tokens[at]));
            match token {
                TokenTree::Ident(ident) => {
                    let ident = ident.to_string();
                    if before(1).as_deref() == Some("fn") {
                        function = Some(self.functions.len());
                        self.functions.push(Function { name: ident, ..Function::default() });
                    } else if matches!(before(1).as_deref(), Some("const" | "static" | "let" | "mut")) {
                        self.lists.entry(ident).or_default().extend(until_semicolon(&tokens[at..]));
                    } else if let Some(function) = inside {
                        self.functions[function].words.insert(ident);
                    }
                }
                TokenTree::Literal(_) => {
                    let Some(text) = literal(token) else { continue };
                    self.named.extend(names_in(&text));
                    if is_punct(at.checked_sub(1).map(|at| &tokens[at]), ':')
                        && at.checked_sub(2).and_then(|at| literal(&tokens[at])).as_deref() == Some("name")
                    {
                        self.named.insert(text.clone());
                    }
                    if let Some(function) = inside {
                        self.functions[function].literals.insert(text);
                    }
                }
                TokenTree::Group(group) => {
                    self.read_group(group, before(1), function);
                    // The body ends the function.
                    if group.delimiter() == Delimiter::Brace {
                        function = inside;
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn read_group(&mut self, group: &Group, before: Option<String>, function: Option<usize>) {
        if let Some(function) = function.map(|at| &mut self.functions[at]) {
            match (group.delimiter(), before) {
                (Delimiter::Parenthesis, Some(called)) => {
                    function.calls.push((called, arguments(group.stream())));
                }
                (Delimiter::Bracket, _) => function.listed.extend(literals(group.stream())),
                (Delimiter::Parenthesis | Delimiter::Brace | Delimiter::None, _) => {}
            }
        }
        self.read(group.stream(), function);
    }

    /// Finds the calling functions, transitively.
    fn find_callers(&mut self) {
        self.callers.extend(CALLING_FUNCTIONS.map(str::to_owned));
        loop {
            let before = self.callers.len();
            for function in &self.functions {
                let calls = function.calls.iter().any(|(called, _)| self.callers.contains(called))
                    || CALLING_METHODS.iter().any(|method| function.literals.contains(*method));
                if calls {
                    self.callers.insert(function.name.clone());
                }
            }
            if self.callers.len() == before {
                return;
            }
        }
    }

    fn called(self) -> BTreeSet<String> {
        let Self { functions, lists, mut named, callers } = self;
        for function in functions.into_iter().filter(|function| callers.contains(&function.name)) {
            let calls = function.calls.into_iter().filter(|(called, _)| callers.contains(called));
            named.extend(calls.flat_map(|(_, arguments)| arguments));
            named.extend(function.listed);
            let used = function.words.iter().filter_map(|word| lists.get(word));
            named.extend(used.flatten().cloned());
        }
        named
    }
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    }
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

/// The content of a string literal. Escapes are kept, because no name has any.
fn literal(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    let text = literal.to_string();
    let text = text.strip_prefix('r').map_or(&*text, |raw| raw.trim_matches('#'));
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// All string literals at any depth.
fn literals(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|token| match &token {
            TokenTree::Group(group) => literals(group.stream()),
            TokenTree::Literal(_) => literal(&token).into_iter().collect(),
            TokenTree::Ident(_) | TokenTree::Punct(_) => Vec::new(),
        })
        .collect()
}

/// The literals of a list, up to the end of the statement.
fn until_semicolon(tokens: &[TokenTree]) -> Vec<String> {
    let list = tokens.iter().take_while(|token| !is_punct(Some(token), ';'));
    let groups = list.filter(|token| matches!(token, TokenTree::Group(_)));
    groups.flat_map(|group| literals(group.clone().into())).collect()
}

/// The literals that are arguments, without those inside a JSON object or a block.
fn arguments(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|token| match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                arguments(group.stream())
            }
            TokenTree::Literal(_) => literal(&token).into_iter().collect(),
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => Vec::new(),
        })
        .collect()
}

/// The values of `name` in a request that is written as a string.
fn names_in(text: &str) -> Vec<String> {
    let after = text.split("\"name\":").skip(1);
    after
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect()
}
