use tool_core::tool;

#[tool(nam = "x", max_run_time = "2 hours")]
fn weather(city: &String, (a, b): (f64, f64), #[param(rang = 1..=2)] days: u32) -> String {
    format!("{city} {a} {b} {days}")
}

fn main() {}
