use tool_core::{tool, tools};

/// Gets the weather.
#[tool(defr)]
fn weather() -> String {
    String::new()
}

fn main() {
    assert_eq!(weather(), "");
    let _ = tools![Weather];
}
