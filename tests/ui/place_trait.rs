use tool_core::tool;

#[tool]
trait Weather {}

fn main() {}
