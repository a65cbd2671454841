use tool_core::{Task, tool};

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self, city: String) -> Task {
        Task::new(city)
    }

    async fn resume(&self, task: Task, #[param(rename = "town")] city: String) -> String {
        format!("{city}: {}", task.data)
    }
}

fn main() {}
