//! Questions that a tool asks the user while it runs.

use std::fmt;
use std::ops::Index;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Schema, SchemaError, ToolCall};

/// What a tool wants to know from the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputRequest {
    /// The id of the call that asks.
    pub call_id: String,
    /// The name of its tool.
    pub tool: String,
    /// The question, in words for the user.
    pub question: String,
    /// The JSON Schema of the answer: an object with a property for each field of the form.
    pub schema: Value,
    /// A page to visit, where that is asked for instead of a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What the user answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer<T = Value>(Option<T>);

impl<T> Answer<T> {
    pub(crate) fn new(value: Option<T>) -> Self {
        Answer(value)
    }

    /// Whether the user answered rather than declined.
    pub fn accepted(&self) -> bool {
        self.0.is_some()
    }

    /// The answer, unless the user declined.
    pub fn value(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The answer, unless the user declined.
    pub fn into_value(self) -> Option<T> {
        self.0
    }
}

/// A field of the form; `null` where the user declined or left it out.
impl Index<&str> for Answer {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        self.0
            .as_ref()
            .and_then(|value| value.get(field))
            .unwrap_or(&Value::Null)
    }
}

/// The fields of a form, as JSON Schema properties.
///
/// A field says `"required": true` where the user must fill it; a `"default"` is what it is when the
/// user leaves it out.
pub struct Fields(Result<Schema, SchemaError>);

impl From<Value> for Fields {
    fn from(fields: Value) -> Self {
        Fields(Schema::new(form(fields)))
    }
}

impl Fields {
    pub(crate) fn of_schema(schema: Value) -> Self {
        Fields(Schema::new(schema))
    }

    pub(crate) fn request(
        self,
        call: &ToolCall,
        question: String,
        url: Option<String>,
    ) -> Result<InputRequest, SchemaError> {
        let schema = self.0?;
        check_defaults(&schema)?;
        Ok(InputRequest {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            question,
            schema: schema.as_value().clone(),
            url,
        })
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The schema of an object with these properties.
fn form(fields: Value) -> Value {
    let Value::Object(mut properties) = fields else {
        return fields;
    };
    let mut required = Vec::new();
    for (name, field) in &mut properties {
        let flag = field
            .as_object_mut()
            .and_then(|field| match field.get("required") {
                Some(Value::Bool(_)) => field.shift_remove("required"),
                _ => None,
            });
        if flag == Some(Value::Bool(true)) {
            required.push(Value::from(name.as_str()));
        }
    }
    let mut form = Map::new();
    form.insert("type".into(), "object".into());
    form.insert("properties".into(), properties.into());
    form.insert("required".into(), required.into());
    form.into()
}

/// The defaults of the fields.
fn defaults(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name, field.get("default")?)))
}

/// A default that does not fit its own field would make the form one that cannot be sent as it is shown.
fn check_defaults(schema: &Schema) -> Result<(), SchemaError> {
    let given: Map<String, Value> = defaults(schema.as_value())
        .map(|(name, default)| (name.clone(), default.clone()))
        .collect();
    if given.is_empty() {
        return Ok(());
    }
    let mut alone = schema.as_value().clone();
    alone["required"] = Value::Array(Vec::new());
    admit(&Schema::new(alone)?, given)
        .map(drop)
        .map_err(|faults| SchemaError::new(format!("a default does not fit its field: {faults}")))
}

/// Checks an answer against the request's schema and fills in the defaults.
///
/// All that is wrong, in words for whoever sent it.
pub(crate) fn check_answer(request: &InputRequest, answer: Value) -> Result<Value, String> {
    let schema = Schema::new(request.schema.clone()).map_err(|error| error.to_string())?;
    let mut answer = match answer {
        Value::Null => Map::new(),
        Value::Object(answer) => answer,
        other => return Err(format!("an answer is an object of fields, got {other}")),
    };
    for (name, default) in defaults(&request.schema) {
        if answer.get(name).is_none_or(Value::is_null) {
            answer.insert(name.clone(), default.clone());
        }
    }
    admit(&schema, answer)
}

fn admit(schema: &Schema, fields: Map<String, Value>) -> Result<Value, String> {
    let text = Value::Object(fields).to_string();
    schema
        .gate()
        .admit(&text, &[])
        .map(Value::Object)
        .map_err(|faults| {
            let faults = faults.iter().map(|fault| match fault.path.as_str() {
                "" => fault.text.clone(),
                path => format!("{path}: {}", fault.text),
            });
            faults.collect::<Vec<_>>().join("; ")
        })
}

/// Reads an answer as the type that was asked for.
pub(crate) fn read_answer<T: DeserializeOwned>(
    answer: Answer,
) -> Result<Answer<T>, serde_json::Error> {
    answer
        .into_value()
        .map(serde_json::from_value)
        .transpose()
        .map(Answer)
}
