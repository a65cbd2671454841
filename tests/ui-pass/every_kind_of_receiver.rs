use tool_core::tool;

struct Plain;

#[tool]
impl Plain {
    /// By its type.
    fn execute(self: &Self) {}
}

struct Lifetimed;

#[tool]
impl Lifetimed {
    /// With the lifetime that is there anyway.
    async fn execute(&'_ self, text: &'_ str) -> String {
        text.to_owned()
    }
}

fn main() {}
