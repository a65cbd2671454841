use tool_core::{Task, tool};

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self) -> Task {
        Task::default()
    }
}

fn main() {}
