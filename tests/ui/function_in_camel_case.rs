use tool_core::tool;

#[allow(non_snake_case)]
/// Gets the weather.
#[tool]
fn Weather() -> String {
    String::new()
}

fn main() {}
