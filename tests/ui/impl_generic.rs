use tool_core::tool;

struct Weather<T>(T);

#[tool]
impl<T> Weather<T> {
    /// Gets the weather.
    async fn execute(&self) -> String {
        String::new()
    }
}

fn main() {}
