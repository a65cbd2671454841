//! DATABASE_URL=postgres://localhost/postgres cargo run --example worker
//!
//! Runs chats that are kept in PostgreSQL, until Ctrl-C; start as many as you like, on any machine. With a
//! question behind `--` it asks that, and waits until one of them has answered.
use tool_core::store::{ChatStore, PostgresChats};
use tool_core::{Agent, Worker, tool, tools};

/// Converts a temperature from Celsius to Fahrenheit.
#[tool]
async fn to_fahrenheit(celsius: f64) -> String {
    format!("{celsius} °C are {} °F", celsius * 1.8 + 32.0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = PostgresChats::connect(&std::env::var("DATABASE_URL")?).await?;
    let model = tool_providers::from_env()?;
    let agent = Agent::new(model, store.clone()).with_tools(tools![ToFahrenheit]);
    let Some(question) = std::env::args().nth(1) else {
        let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
        let failed = |chat: &str, error: &tool_core::ChatError| eprintln!("{chat}: {error}");
        Worker::new(agent).run(stop, failed).await;
        return Ok(());
    };
    let mut chat = agent.create().await?;
    chat.ask_later(question).await?;
    chat.reload().await?;
    let mut moment = 0;
    while !chat.is_idle() {
        moment = store
            .wait(moment, std::time::Duration::from_secs(1))
            .await?;
        chat.reload().await?;
    }
    if let Some(answer) = chat.last_answer() {
        println!("{}", answer.text());
    }
    Ok(())
}
