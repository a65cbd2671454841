use tool_core::{Task, tool};

struct Weather;

#[tool]
impl Weather {
    /// Gets the weather.
    async fn execute(&self, city: String) -> Task {
        Task::new(city)
    }

    async fn resume(&self, task: Task, town: String) -> String {
        format!("{town}: {}", task.data)
    }
}

fn main() {}
