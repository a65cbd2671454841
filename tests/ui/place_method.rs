use tool_core::tool;

struct Weather;

impl Weather {
    /// Gets the weather.
    #[tool]
    fn get(&self) -> String {
        String::new()
    }
}

fn main() {}
