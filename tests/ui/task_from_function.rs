use tool_core::{Task, tool};

/// Gets the weather.
#[tool]
fn weather() -> Task {
    Task::default()
}

fn main() {}
