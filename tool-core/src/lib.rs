//! Tools for language models.
