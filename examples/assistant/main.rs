//! cargo run --example assistant -- "What is 17.5 degrees Celsius in Fahrenheit?"
//!
//! Without a question it prompts for them. It uses the provider whose key or address is set, else
//! the embedded model.

mod tools;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::pin::pin;
use std::process::exit;

use tool_core::{Chat, ChatError, Event, Limits, Turn, tools};

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

/// Asks one question. Ctrl-C cancels it and leaves the chat as it should be; a second one, or one at the
/// prompt, ends the program.
async fn ask(
    chat: &mut Chat,
    question: &str,
    interrupts: &mut Interrupts,
) -> Result<Turn, ChatError> {
    let cancel = chat.cancel_handle();
    let mut turn = pin!(chat.ask(question));
    tokio::select! {
        turn = &mut turn => return turn,
        _ = interrupts.recv() => cancel.cancel(),
    }
    tokio::select! {
        turn = turn => turn,
        _ = interrupts.recv() => exit(INTERRUPTED),
    }
}

type Interrupts = tokio::sync::mpsc::Receiver<()>;

/// Counts Ctrl-C from now on.
fn interrupts() -> Interrupts {
    let (sender, receiver) = tokio::sync::mpsc::channel(8);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).await.is_ok() {}
    });
    receiver
}

/// The exit status of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

#[tokio::main]
async fn main() {
    if let Err(error) = run().await {
        eprintln!("error: {error}");
        exit(1);
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
        .before_message(|| eprintln!("  thinking …"))
        .on_event(show);
    let mut interrupts = interrupts();

    let question = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    if !question.is_empty() {
        let turn = ask(&mut chat, &question, &mut interrupts).await?;
        println!("{turn}");
        exit(match turn {
            Turn::Answer(_) => 0,
            Turn::Cancelled => INTERRUPTED,
            _ => 1,
        });
    }
    loop {
        eprint!("> ");
        io::stderr().flush()?;
        let read = tokio::task::spawn_blocking(|| {
            let mut line = Vec::new();
            io::stdin()
                .lock()
                .read_until(b'\n', &mut line)
                .map(|_| line)
        });
        let line = tokio::select! {
            line = read => line??,
            _ = interrupts.recv() => exit(INTERRUPTED),
        };
        if line.is_empty() {
            exit(0);
        }
        match String::from_utf8_lossy(&line).trim() {
            "" => {}
            question => match ask(&mut chat, question, &mut interrupts).await {
                Ok(turn) => println!("{turn}"),
                Err(error) => eprintln!("error: {error}"),
            },
        }
    }
}
