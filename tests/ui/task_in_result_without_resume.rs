use tool_core::{Task, tool};

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self) -> Result<Task, std::io::Error> {
        Ok(Task::default())
    }
}

fn main() {}
