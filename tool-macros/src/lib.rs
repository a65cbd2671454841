//! The `#[tool]` attribute of `tool-core`.

mod check;
mod docs;
mod errors;
mod expand;
mod fallback;
mod json;
mod model;
mod names;
mod parse;
mod runtime;
mod selfless;
mod shape;
mod tools;
mod written;

use proc_macro::TokenStream;

use errors::Errors;

/// Makes a function, or a type with a method `execute`, a tool that a language model can call.
///
/// ```
/// use tool_core::{Tool, tool, tools};
///
/// /// Gets the current weather for a location.
/// #[tool]
/// fn weather(
///     /// Latitude in decimal degrees.
///     #[param(range = -90.0..=90.0)]
///     latitude: f64,
///     /// Longitude in decimal degrees.
///     longitude: f64,
///     /// How many days to look ahead.
///     #[param(default = 3)]
///     days: u32,
/// ) -> String {
///     format!("sunny at {latitude}, {longitude} for {days} days")
/// }
///
/// // The function is as callable as before, and the type `Weather` is the tool.
/// assert_eq!(weather(48.4, 10.0, 1), "sunny at 48.4, 10 for 1 days");
/// assert_eq!(Weather.name(), "weather");
/// assert_eq!(Weather.definition().description(), "Gets the current weather for a location.");
/// let tools = tools![Weather];
/// # assert_eq!(tools.len(), 1);
/// ```
///
/// # The two forms
///
/// **On a function**, `async` or not. It stays what it is; next to it comes a unit type of the same visibility, named
/// after it in CamelCase (`weather_lookup` → `WeatherLookup`), that implements `Tool`. A function that is not `async`
/// runs where it may block. `-> impl Future<…>` is awaited like an `async fn`.
///
/// **On an `impl` block** with a method `execute(&self, …)`. The type itself implements `Tool`, and its fields are what
/// the tool needs: clients, stores, settings. All other methods are left alone.
///
/// ```
/// use tool_core::{ToolCall, ToolError, tool, tools};
///
/// struct IssueRefund {
///     limit: u64,
/// }
///
/// #[tool(requires_approval, max_run_time = "2h")]
/// impl IssueRefund {
///     /// Issues a refund for an order.
///     async fn execute(&self, order_id: u64, cents: u64, tool_call: &ToolCall) -> Result<String, ToolError> {
///         tool_call.progress("Calling the bank", 1, 3);
///         if cents > self.limit {
///             return Err(ToolError::new("more than the limit"));
///         }
///         Ok(format!("refunded order {order_id}"))
///     }
/// }
///
/// let tools = tools![IssueRefund { limit: 10_000 }];
/// # assert!(tools.get("issue_refund").is_some());
/// ```
///
/// # Name and description
///
/// The **name** is that of the function or type in snake_case, in ASCII (`größe` → `grosse`), without `_tool` at its end:
/// `WeatherTool` → `weather`, `HTTPGet` → `http_get`. `name = "…"` overrides. What some provider refuses, anything but
/// `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, is a compile error.
///
/// The **description** is the doc comment of the function, of `execute`, or of the `impl` block, in this order. Blank
/// lines between paragraphs are kept. `description = …` overrides, with any constant `&str`. There has to be one.
///
/// # Parameters
///
/// Each is a property of the schema: its name, its doc comment as description, and the schema of its type, which is
/// anything that implements `serde::Deserialize` and `schemars::JsonSchema`. An `Option<T>` may be left out. `&str` and
/// `Option<&str>` borrow from the arguments; all other parameters are owned.
///
/// | on a parameter | |
/// | --- | --- |
/// | `#[param(default)]` | may be left out; then it is `Default::default()` |
/// | `#[param(default = 3)]` | may be left out; then it is this expression. A literal is shown to the model |
/// | `#[param(rename = "q")]` | the property is called `q` |
/// | `#[param(alias = "query")]` | is also accepted under this name; repeatable |
/// | `#[param(description = "…")]` | instead of the doc comment |
/// | `#[param(range = 1..=100)]` | `minimum`, `maximum`; also `1..`, `..100`, `0.0..1.0` |
/// | `#[param(length = 1..=20)]` | `minLength`, `maxLength` of a text; `minItems`, `maxItems` of a list |
/// | `#[param(pattern = "^[a-z]+$")]` | the regular expression that a text matches. What JSON Schema has beyond the syntax of `regex-lite` (look-around, `\\p{…}`) is told to the model, but not checked |
/// | `#[param(example = "Berlin")]` | a literal or JSON; repeatable |
/// | `#[serde(…)]` | `rename`, `alias`, `default`, `default = "path"`, `deserialize_with`, `with` |
/// | `#[schemars(…)]` | `description`, `range(min = 1)`, `length(max = 9)`, `regex(pattern = "…")`, `pattern`, `example` |
///
/// ```
/// use tool_core::{Tool, tool};
///
/// #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
/// enum Order {
///     Newest,
///     Cheapest,
/// }
///
/// /// Searches the shop.
/// #[tool]
/// fn search(
///     #[serde(rename = "q")] query: &str,
///     #[param(default = Order::Newest)] order: Order,
///     #[param(length = ..=5, example = ["red", "large"])] tags: Option<Vec<String>>,
/// ) -> String {
///     format!("{query} {order:?} {tags:?}")
/// }
///
/// let schema = Search.definition().schema().as_value();
/// assert_eq!(schema["required"], serde_json::json!(["q"]));
/// assert_eq!(schema["properties"]["tags"]["maxItems"], 5);
/// ```
///
/// **`tool_call`** is reserved. A parameter of this name is a `&ToolCall`, or an `Option<&ToolCall>` that is `None`
/// outside a chat. The runtime fills it in; it is never in the schema and no model can set it.
///
/// # Results
///
/// Text stays text; any `serde::Serialize` becomes JSON; `()` is a result that says `null`; an `Attachment`, several, or
/// text with them; a `ToolOutput`; a `Task`; and a `Result` of these, under any alias. The model reads an `Err` and goes
/// on; `ToolError::fatal` stops the chat.
///
/// An `execute` that returns a `Task` needs a method `resume`, which takes `task` and, by name, any parameters of
/// `execute`:
///
/// ```
/// use tool_core::{Task, TaskPoll, tool};
///
/// struct Export;
///
/// #[tool]
/// impl Export {
///     /// Exports a table to a file.
///     async fn execute(&self, table: String) -> Task {
///         Task::new(format!("job-for-{table}"))
///     }
///
///     async fn resume(&self, task: Task, table: &str) -> TaskPoll<String> {
///         TaskPoll::Ready(format!("{table} is in {}", task.data))
///     }
/// }
/// ```
///
/// # Keys
///
/// | key | |
/// | --- | --- |
/// | `name = "…"` | see above |
/// | `description = …` | see above |
/// | `schema = …` | instead of the inferred schema; see below |
/// | `strict` | asks the provider to hold the model to the schema; `strict = false` asks it not to |
/// | `defer` | the model finds the tool by searching, instead of being told of it at once |
/// | `requires_approval` | every call waits for a decision |
/// | `requires_approval = is_large` | the calls wait for which this returns `true`: a `fn(&ToolCall) -> bool`, in an `impl` block a `fn(&Self, &ToolCall) -> bool` |
/// | `approval = decide` | an `async fn` of the same parameters that returns the `Decision`, where the application keeps it |
/// | `max_run_time = "1d 4h"` | the deadline of a call, in `ms`, `s`, `m`, `h`, `d`, `w`; an async function that never yields cannot be stopped at it |
/// | `spill_to_file = 50_000` | a result of more characters goes to a file; `false`: never |
/// | `after_crash = "rerun"` | what becomes of a call that had started: `"rerun"` (as when nothing is said), `"review"`, `"report"` |
/// | `provider_options = { … }` | JSON that goes into the tool's declaration as it is |
/// | `provider_options(anthropic = { … })` | the same for one protocol: `chat_completions`, `responses`, `anthropic`, `gemini`, `ollama`, `mcp` (see `tool_providers::mcp`) |
/// | `crate = path` | where `tool_core` is, if it is neither a dependency nor a renamed one |
///
/// # Explicit schemas
///
/// `schema = { … }` is JSON, `schema = "file.json"` a file next to the crate's `Cargo.toml`, `schema = Type` the schema of
/// a type. JSON is checked when the program is compiled: that it is a JSON Schema, and that it agrees with the signature,
/// which is still what the arguments are read into. The schema of a type is known only at run time: it is compared when the
/// tool is first used, and a difference is a panic that names both sides, so look at it in a test,
/// `Search.definition()`.
///
/// ```
/// use tool_core::tool;
///
/// /// Gets the forecast.
/// #[tool(schema = {
///     "type": "object",
///     "properties": {
///         "city": { "type": "string", "minLength": 1 },
///         "days": { "type": "integer", "maximum": 10 }
///     },
///     "required": ["city"]
/// })]
/// fn forecast(city: String, #[param(default = 3)] days: u32) -> String {
///     format!("{city}, {days} days")
/// }
/// ```
///
/// ```compile_fail
/// # use tool_core::tool;
/// /// Gets the forecast.
/// #[tool(schema = { "type": "object", "properties": { "city": { "type": "integer" } }, "required": ["city"] })]
/// fn forecast(city: String) -> String { city } // `city` is `String` in Rust, but the schema says `"integer"`
/// ```
///
/// # Errors
///
/// All mistakes of a program are reported in one compile, each where it was made:
///
/// * a key that is unknown, given twice, contradicts another one, or has a value that it does not take;
/// * a name that a provider refuses, for the tool or for a property; two properties of one name; no description;
/// * a method without `&self`; generics and lifetimes; `unsafe`, `const` and `extern` functions; patterns, `impl Trait`
///   and borrowed types as parameters; `#[cfg]` on a parameter; no `execute`, or two;
/// * a parameter whose type lacks `Deserialize` or `JsonSchema`, a result that lacks `Serialize`, an error that cannot be
///   displayed, a `tool_call` of another type, a value held across an `.await` that is not `Send`;
/// * a range, length, pattern, default or example that does not fit the type or each other;
/// * a schema that is none, or that disagrees with the signature: a property without a parameter, a parameter without a
///   property, one that is required and optional at once, two different types;
/// * a function that would make a type which is there already: `fn result`, or `fn forecast() -> Forecast`. Rename it
///   and keep the model's name with `name = "…"`;
/// * a `Task` that no `resume` goes on with.
///
/// To see the generated code, compile with `TOOL_MACROS_PRINT=1` in the environment, or with the name of one tool.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expansion = pipeline(arguments.into(), item.into());
    expansion.into()
}

fn pipeline(
    arguments: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let arguments = parse::tool(arguments, &mut errors);
    let mut parsed = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.into_compile_error();
            return quote::quote!(#error #item);
        }
    };
    let tool = model::build(arguments, &mut parsed, &mut errors);
    if let Some(tool) = &tool {
        check::all(tool, &mut errors);
    }
    match (errors.finish(), tool) {
        (Ok(()), Some(tool)) => {
            let expansion = expand::tool(&parsed, &tool);
            print(&tool.name.text, &expansion);
            expansion
        }
        (Ok(()), None) => item,
        (Err(errors), tool) => fallback::item(&errors, &parsed, tool.as_ref()),
    }
}

fn print(name: &str, expansion: &proc_macro2::TokenStream) {
    if let Ok(wanted) = std::env::var("TOOL_MACROS_PRINT")
        && (wanted == "1" || wanted == name)
    {
        eprintln!("// The expansion of `{name}`:\n{expansion}\n// End of `{name}`.");
    }
}

/// The set of `tool_core::tools!`.
#[doc(hidden)]
#[proc_macro]
pub fn tools_impl(tokens: TokenStream) -> TokenStream {
    let tools = syn::parse_macro_input!(tokens as tools::Tools);
    tools::expand(&tools).into()
}
