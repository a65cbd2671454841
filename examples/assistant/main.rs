//! cargo run --example assistant -- "What is 17.5 degrees Celsius in Fahrenheit?"
//!
//! Without a question it prompts for them. It uses the provider whose key or address is set, else
//! the embedded model.

mod tools;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use tool_core::{Chat, Event, Limits, Turn, tools};

use tools::{CalculateTool, ConvertUnit, CountWords, DaysBetween, GetTime, ListFiles, ReadFile};

fn show(event: &Event) {
    match event {
        Event::ToolCall(call) => eprintln!("→ {} {}", call.name, call.arguments),
        Event::Progress(progress) => eprintln!("  … {}", progress.message),
        Event::ToolResult(result) => {
            let first: String = result
                .text
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(100)
                .collect();
            eprintln!("← {:?}: {first}", result.outcome);
        }
        _ => {}
    }
}

/// Asks one question; Ctrl-C cancels it and leaves the chat as it should be.
async fn ask(chat: &mut Chat, question: &str) -> Result<Turn, Box<dyn Error>> {
    let cancel = chat.cancel_handle();
    let watch = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
    });
    let turn = chat.ask(question).await;
    watch.abort();
    Ok(turn?)
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let model = tool_providers::from_env()?;
    eprintln!("using {model}");
    let files = std::env::current_dir()?;
    let tools = tools![
        GetTime,
        ConvertUnit,
        CalculateTool,
        DaysBetween,
        ListFiles {
            root: files.clone()
        },
        ReadFile {
            root: files.clone()
        },
        CountWords { root: files },
    ];
    let mut chat = Chat::new(model)
        .with_tools(tools)
        .with_limits(Limits::new().rounds(8))
        .on_event(show);

    let question = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    if !question.is_empty() {
        println!("{}", ask(&mut chat, &question).await?);
        return Ok(());
    }
    eprint!("> ");
    for question in io::stdin().lock().lines() {
        match question?.trim() {
            "" => {}
            question => match ask(&mut chat, question).await {
                Ok(turn) => println!("{turn}"),
                Err(error) => eprintln!("error: {error}"),
            },
        }
        eprint!("> ");
        io::stderr().flush()?;
    }
    Ok(())
}
