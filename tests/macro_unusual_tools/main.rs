//! M9: unusual tools compile.

mod attributes_are_kept;
mod every_kind_of_receiver;
mod methods_of_the_runtimes_names;
mod public_interface;
mod schema_of_another_dialect;
mod tool_in_a_generic_function;
mod types_of_the_users_own;
