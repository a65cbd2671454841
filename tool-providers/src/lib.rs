//! Providers.

#[cfg(feature = "embedded")]
pub mod embedded;
