//! Gemini: how a tool's schema is said in `parametersJsonSchema`.

mod schema;

pub use schema::parameters;
