use tool_core::{Task, tool};

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self) -> Task {
        Task::default()
    }

    async fn resume(self, task: Task) -> String {
        task.data.to_string()
    }
}

fn main() {}
