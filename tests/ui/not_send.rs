// B20
use tool_core::tool;

/// Gets the weather.
#[tool]
async fn weather() -> String {
    let city = std::rc::Rc::new("Berlin");
    std::future::ready(()).await;
    city.to_string()
}

fn main() {}
