//! cargo run --example weather
use tool_core::{Chat, tool, tools};

/// Gets the current weather in a city.
#[tool]
async fn weather(
    /// Name of the city.
    city: String,
) -> String {
    format!("18 °C and sunny in {city}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut chat = Chat::new(tool_providers::from_env()?).with_tools(tools![Weather]);
    println!("{}", chat.ask("What is the weather in Paris?").await?);
    Ok(())
}
