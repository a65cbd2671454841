use tool_core::tool;

#[tool]
fn weather() -> String {
    String::new()
}

/// Gets the time.
#[tool(defr)]
fn time() -> String {
    String::new()
}

fn main() {}
