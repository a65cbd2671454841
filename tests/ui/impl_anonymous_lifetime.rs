use tool_core::tool;

struct Weather<'a>(&'a str);

#[tool]
impl Weather<'_> {
    /// Gets the weather.
    async fn execute(&self) -> String {
        String::new()
    }
}

fn main() {}
