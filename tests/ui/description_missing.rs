use tool_core::tool;

#[tool]
fn weather() -> String {
    String::new()
}

fn main() {}
