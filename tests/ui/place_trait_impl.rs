use tool_core::tool;

struct Weather;

#[tool]
impl Default for Weather {
    fn default() -> Self {
        Weather
    }
}

fn main() {}
