use tool_core::{Tool, tool};

struct Odd;

/// Has methods that are called like the runtime's.
#[tool]
impl Odd {
    fn execute(&self, name: String) -> String {
        self.name() + &name
    }

    fn name(&self) -> String {
        self.definition() + self.invoke() + self.call() + self.resume() + self.approval()
    }

    fn definition(&self) -> String {
        String::new()
    }

    fn invoke(&self) -> &str {
        ""
    }

    fn call(&self) -> &str {
        ""
    }

    fn resume(&self) -> &str {
        ""
    }

    fn approval(&self) -> &str {
        ""
    }
}

#[test]
fn m9_methods_of_the_runtimes_names() {
    assert_eq!(Tool::name(&Odd), "odd");
}
