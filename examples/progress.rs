//! cargo run --example progress
//!
//! A tool that reports its progress to a real progress bar while it runs.
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, ToolCall, tool, tools};

/// Reads a document, page by page.
#[tool]
async fn read_pages(pages: u64, tool_call: &ToolCall) -> String {
    for page in 1..=pages {
        tool_call.progress(format!("page {page}"), page, pages);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    format!("read {pages} pages")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template(
        "{wide_bar} {pos}/{len} {msg}",
    )?);
    let shown = bar.clone();
    let model = ScriptedModel::new()
        .call("read_pages", json!({ "pages": 50 }))
        .text("I have read it.");
    let mut chat = Chat::new(model)
        .with_tools(tools![ReadPages])
        .after_tool_progress(move |progress| {
            shown.set_length(progress.total.unwrap_or_default() as u64);
            shown.set_position(progress.value.unwrap_or_default() as u64);
            shown.set_message(progress.message.clone());
        });
    let turn = chat.ask("Read the document").await?;
    bar.finish_and_clear();
    println!("{turn}");
    Ok(())
}
