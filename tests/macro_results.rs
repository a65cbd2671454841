//! M10: results.

use serde::Serialize;
use serde_json::{Value, json};
use tool_core::{Attachment, Tool, ToolError, ToolOutput, tool};

type Answer<T> = Result<T, Failure>;

#[derive(Debug)]
struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("out of order")
    }
}

impl std::error::Error for Failure {}

#[derive(Serialize)]
struct Forecast {
    degrees: f64,
}

macro_rules! tools {
    ($($name:ident: $ty:ty = $value:expr;)*) => {$(
        /// Returns something.
        #[tool]
        fn $name() -> $ty {
            $value
        }
    )*};
}

tools! {
    text: String = "plain".to_owned();
    slice: &'static str = "static";
    number: f64 = 1.5;
    object: Forecast = Forecast { degrees: 17.5 };
    json_value: Value = json!([1, null]);
    maybe: Option<u8> = None;
    unit: () = ();
    aliased: Answer<String> = Ok("fine".to_owned());
    aliased_error: Answer<String> = Err(Failure);
    boxed_error: Result<u8, Box<dyn std::error::Error + Send + Sync>> = Err("boxed".into());
    text_error: Result<u8, String> = Err("words".to_owned());
    own_error: Result<(), ToolError> = Err(ToolError::fatal("stop"));
    output: ToolOutput = ToolOutput::text("whole");
    wrapped: std::io::Result<Forecast> = Ok(Forecast { degrees: 1.0 });
    image: Attachment = Attachment::from_bytes("image/png", &[1]);
}

async fn run(tool: &dyn Tool) -> String {
    match tool.call(json!({})).await {
        Ok(output) => output.as_text().to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test]
async fn m10_b04_every_kind_of_result_is_read_by_the_model() {
    assert_eq!(run(&Text).await, "plain");
    assert_eq!(run(&Slice).await, "static");
    assert_eq!(run(&Number).await, "1.5");
    assert_eq!(run(&Object).await, r#"{"degrees":17.5}"#);
    assert_eq!(run(&JsonValue).await, "[1,null]");
    assert_eq!(run(&Maybe).await, "null");
    assert_eq!(run(&Aliased).await, "fine");
    assert_eq!(run(&AliasedError).await, "error: out of order");
    assert_eq!(run(&BoxedError).await, "error: boxed");
    assert_eq!(run(&TextError).await, "error: words");
    assert_eq!(run(&Output).await, "whole");
    assert_eq!(run(&Wrapped).await, r#"{"degrees":1.0}"#);
}

#[tokio::test]
async fn m10_b98_nothing_is_a_result_that_is_not_empty() {
    assert!(!run(&Unit).await.is_empty());
}

#[tokio::test]
async fn m10_a_tool_error_stays_what_it_is() {
    let error = OwnError.call(json!({})).await.expect_err("an error");
    assert!(error.is_fatal());
}

#[tokio::test]
async fn m10_an_attachment_is_attached() {
    let output = Image.call(json!({})).await.expect("an image");
    assert_eq!(output.attachments().len(), 1);
}
