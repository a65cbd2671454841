use tool_core::tool;

fn is_large(amount: u64) -> bool {
    amount > 100
}

/// Gets the weather.
#[tool(requires_approval = is_large)]
fn weather() -> String {
    String::new()
}

fn main() {}
