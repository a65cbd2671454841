//! M4: types of other crates, where schemars' feature for them is on.

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::json;
use tool_core::{Tool, tool};
use url::Url;
use uuid::Uuid;

/// Books a room.
#[tool]
async fn book(day: NaiveDate, at: Option<DateTime<Utc>>, id: Uuid, site: Url) -> String {
    format!("{day} {at:?} {id} {site}")
}

#[test]
fn m4_dates_ids_and_addresses_are_strings_of_a_format() {
    let schema = Book.definition().schema().as_value();
    for (name, format) in [
        ("day", "date"),
        ("at", "date-time"),
        ("id", "uuid"),
        ("site", "uri"),
    ] {
        let expected = json!({ "type": "string", "format": format });
        assert_eq!(schema["properties"][name], expected, "{name}");
    }
    assert_eq!(schema["required"], json!(["day", "id", "site"]));
}

#[tokio::test]
async fn r3_a_value_that_is_no_date_is_refused_with_its_path() {
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let right = json!({ "day": "2026-12-01", "id": id, "site": "https://example.org" });
    let output = Book.call(right).await.unwrap();
    assert_eq!(
        output.as_text(),
        format!("2026-12-01 None {id} https://example.org/")
    );
    let wrong = json!({ "day": "tomorrow", "at": "noon", "id": "7", "site": "nowhere" });
    let error = Book.call(wrong).await.unwrap_err().to_string();
    for path in ["/day: ", "/at: ", "/id: ", "/site: "] {
        assert!(error.contains(path), "{path} in {error}");
    }
}
