//! Language models for [`tool_core`].
//!
//! | to | see |
//! | --- | --- |
//! | use what the environment names | [`from_env`] |
//! | use a vendor | [`OpenAi`], [`Anthropic`], [`Gemini`], [`OpenRouter`], [`Mistral`], [`DeepSeek`], [`XAi`], [`Ollama`] |
//! | use any other server that speaks one of their protocols | [`Compatible`], [`Api`] |
//! | set key, address, limits and retries | [`Provider`], [`Timeouts`] |
//! | go through a proxy, or trust an authority of your own | [`Provider::proxy`], [`Provider::root_certificate`] |
//! | speak HTTP/2 with servers that offer it | the feature `http2` |
//! | have a model in this process, with no key | `embedded`, with the feature of that name |
//! | use the tools of an MCP server, and be one | `mcp`, with the feature of that name |
//! | record real traffic, and replay it in tests | [`recording`] |
//! | build a provider of your own | [`protocol`], [`sse`], [`retry`] |
//!
//! ```no_run
//! use tool_core::Chat;
//! use tool_providers::OpenAi;
//!
//! let chat = Chat::new(OpenAi::from_env()?.model("gpt-5-mini"));
//! # Ok::<_, tool_core::ModelError>(())
//! ```

#[cfg(feature = "embedded")]
pub mod embedded;
mod env;
mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod protocol;
mod provider;
pub mod recording;
pub mod retry;
mod secret;
pub mod sse;

pub use env::{EnvModel, from_env, from_variables};
pub use http::Timeouts;
pub use provider::{
    Anthropic, Api, ChatModel, Compatible, DeepSeek, Gemini, Mistral, Ollama, OpenAi, OpenRouter,
    Provider, XAi,
};
pub use recording::Replay;
pub use secret::Secret;
