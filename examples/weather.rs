//! cargo run --example weather -- "What is the weather in Paris?"
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
    let question = std::env::args()
        .nth(1)
        .unwrap_or("What is the weather in Paris?".into());
    let mut chat = Chat::new(tool_providers::from_env()?).with_tools(tools![Weather]);
    println!("{}", chat.ask(question).await?);
    Ok(())
}
