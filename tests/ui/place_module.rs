use tool_core::tool;

#[tool]
mod weather {}

fn main() {}
