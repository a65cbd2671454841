use tool_core::tool;

struct Weather;

#[tool(defer, defer)]
impl Weather {
    async unsafe fn execute<T>(&mut self, city: T, _: u8) -> String {
        drop(city);
        String::new()
    }
}

fn main() {}
