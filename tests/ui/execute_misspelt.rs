use tool_core::tool;

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    fn exceute(&self, #[param(default = 3)] days: u32) -> String {
        days.to_string()
    }
}

fn main() {}
