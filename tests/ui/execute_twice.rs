use tool_core::tool;

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self) -> String {
        String::new()
    }

    /// Gets the weather.
    async fn execute(&self, city: String) -> String {
        city
    }
}

fn main() {}
