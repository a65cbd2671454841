use tool_core::tool;

struct Weather;

#[tool]
impl Weather {
    async fn execute(&self) -> String {
        String::new()
    }
}

fn main() {}
