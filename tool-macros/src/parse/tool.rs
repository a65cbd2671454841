//! `#[tool(…)]`.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Ident, LitBool, LitInt, LitStr, Path, Token, Type, parenthesized, token};

use super::{Word, duration, words};
use crate::errors::{Errors, choices};
use crate::json::Json;

#[derive(Default)]
pub(crate) struct ToolArguments {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) schema: Option<Schema>,
    pub(crate) strict: Option<bool>,
    pub(crate) defer: bool,
    pub(crate) requires_approval: Option<(Ident, Approval)>,
    pub(crate) approval: Option<(Ident, Expr)>,
    pub(crate) max_run_time: Option<u64>,
    pub(crate) spill_to_file: Option<Spill>,
    /// `rerun`, `review` or `report`
    pub(crate) after_crash: Option<String>,
    pub(crate) provider_options: Vec<(Option<String>, Json)>,
    pub(crate) krate: Option<Path>,
}

pub(crate) enum Schema {
    Literal(Ident, Json),
    File(LitStr),
    Type(Type),
}

pub(crate) enum Approval {
    Flag(bool),
    Predicate(Expr),
}

pub(crate) enum Spill {
    Characters(usize),
    Never,
}

const WORDS: &[Word] = &[
    Word::new("name", "a string", r#"name = "get_weather""#),
    Word::new("description", "a constant string", r#"description = "…""#),
    Word::new(
        "schema",
        "a JSON object, a file or a type",
        r#"schema = { "type": "object", "properties": {} }`, `schema = "file.json"` or `schema = Type"#,
    ),
    Word::new("strict", "nothing, `true` or `false`", "strict"),
    Word::new("defer", "nothing, `true` or `false`", "defer"),
    Word::new(
        "requires_approval",
        "nothing or a function from the call to a `bool`",
        "requires_approval` or `requires_approval = is_large",
    ),
    Word::new(
        "approval",
        "an async function from the call to a `Decision`",
        "approval = decide",
    ),
    Word::new(
        "max_run_time",
        "a duration in quotes",
        r#"max_run_time = "90s""#,
    ),
    Word::new(
        "spill_to_file",
        "a number of characters or `false`",
        "spill_to_file = 50_000",
    ),
    Word::new(
        "after_crash",
        r#"`"rerun"`, `"review"` or `"report"`"#,
        r#"after_crash = "review""#,
    ),
    Word::new(
        "provider_options",
        "a JSON object, or one for each protocol",
        r#"provider_options = { "key": "value" }` or `provider_options(anthropic = { "key": "value" })"#,
    )
    .repeats(),
    Word::new("crate", "a path", "crate = my_crate::tool_core"),
];

const PROTOCOLS: &[&str] = &[
    "chat_completions",
    "responses",
    "anthropic",
    "gemini",
    "ollama",
    "mcp",
];
const AFTER_CRASH: &[&str] = &["rerun", "review", "report"];

pub(crate) fn tool(tokens: TokenStream, errors: &mut Errors) -> ToolArguments {
    let mut arguments = ToolArguments::default();
    let mut seen = Vec::new();
    let read = |input: ParseStream<'_>| {
        words(
            "`tool`",
            WORDS,
            &mut seen,
            input,
            errors,
            &mut |word, key, input| arguments.set(word, key, input),
        );
        Ok(())
    };
    // `words` reads to the end and keeps its own errors.
    _ = read.parse2(tokens);
    arguments
}

impl ToolArguments {
    fn set(&mut self, word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match word.name {
            "name" => self.name = Some(word.value(key, input)?),
            "description" => self.description = Some(word.value(key, input)?),
            "schema" => self.schema = Some(schema(word, key, input)?),
            "strict" => self.strict = Some(word.flag(key, input)?),
            "defer" => self.defer = word.flag(key, input)?,
            "requires_approval" => {
                self.requires_approval = Some((key.clone(), requirement(word, key, input)?));
            }
            "approval" => self.approval = Some((key.clone(), word.value(key, input)?)),
            "max_run_time" => {
                self.max_run_time = Some(duration::parse(&word.value(key, input)?)?);
            }
            "spill_to_file" => self.spill_to_file = Some(spill(word, key, input)?),
            "after_crash" => self.after_crash = Some(after_crash(word, key, input)?),
            "provider_options" => provider_options(self, word, key, input)?,
            _ => self.krate = Some(krate(word, key, input)?),
        }
        Ok(())
    }
}

fn schema(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Schema> {
    word.equals(key, input)?;
    if super::is_json_container(input) {
        return Ok(Schema::Literal(key.clone(), input.parse()?));
    }
    if input.peek(LitStr) {
        return Ok(Schema::File(input.parse()?));
    }
    let span = input.span();
    match input.parse() {
        Ok(ty) => Ok(Schema::Type(ty)),
        Err(_) => Err(word.misused(span)),
    }
}

fn requirement(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Approval> {
    if !input.peek(Token![=]) {
        return Ok(Approval::Flag(true));
    }
    word.equals(key, input)?;
    if input.peek(LitBool) {
        return Ok(Approval::Flag(input.parse::<LitBool>()?.value));
    }
    let span = input.span();
    let predicate = input.parse().map_err(|_| word.misused(span))?;
    Ok(Approval::Predicate(predicate))
}

fn spill(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Spill> {
    word.equals(key, input)?;
    let span = input.span();
    if input.peek(LitInt) {
        let number: LitInt = input.parse()?;
        return match number.base10_parse() {
            Ok(characters) if characters > 0 => Ok(Spill::Characters(characters)),
            _ => Err(word.misused(span)),
        };
    }
    match input.parse::<LitBool>() {
        Ok(value) if !value.value => Ok(Spill::Never),
        _ => Err(word.misused(span)),
    }
}

fn after_crash(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<String> {
    let choice: LitStr = word.value(key, input)?;
    let text = choice.value();
    if AFTER_CRASH.contains(&text.as_str()) {
        return Ok(text);
    }
    let end = choices(&text, "write one of", AFTER_CRASH);
    let message = format!("`{text}` is not something to do after a crash{end}");
    Err(syn::Error::new(choice.span(), message))
}

fn provider_options(
    arguments: &mut ToolArguments,
    word: &Word,
    key: &Ident,
    input: ParseStream<'_>,
) -> syn::Result<()> {
    if !input.peek(token::Paren) {
        if arguments
            .provider_options
            .iter()
            .any(|(of, _)| of.is_none())
        {
            let message = "`provider_options` for all protocols is given twice: write one object";
            return Err(syn::Error::new(key.span(), message));
        }
        let options = object(word, key, input)?;
        arguments.provider_options.push((None, options));
        return Ok(());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return Err(word.misused(key.span()));
    }
    while !content.is_empty() {
        let protocol: Ident = content.parse().map_err(|_| word.misused(content.span()))?;
        let name = protocol.to_string();
        if !PROTOCOLS.contains(&name.as_str()) {
            let end = choices(&name, "write one of", PROTOCOLS);
            let message = format!("`{name}` is not a protocol{end}");
            return Err(syn::Error::new(protocol.span(), message));
        }
        let is_protocol = |(of, _): &(Option<String>, _)| of.as_deref() == Some(name.as_str());
        if arguments.provider_options.iter().any(is_protocol) {
            let message = format!("`{name}` is given twice: keep one of them");
            return Err(syn::Error::new(protocol.span(), message));
        }
        let options = object(word, &protocol, &content)?;
        arguments.provider_options.push((Some(name), options));
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

fn object(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Json> {
    word.equals(key, input)?;
    if !input.peek(token::Brace) {
        return Err(word.misused(input.span()));
    }
    input.parse()
}

fn krate(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    word.equals(key, input)?;
    let span = input.span();
    input
        .call(Path::parse_mod_style)
        .map_err(|_| word.misused(span))
}
