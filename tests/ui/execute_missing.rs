use tool_core::tool;

struct Weather;

#[tool]
impl Weather {
    fn get(&self) -> String {
        String::new()
    }
}

fn main() {}
