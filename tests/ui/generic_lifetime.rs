use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather<'a>(city: &'a str) -> String {
    city.to_owned()
}

fn main() {}
