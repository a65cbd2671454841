//! The model of a chat in which one call runs: it is never asked.

use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::{
    AssistantMessage, Block, FinishReason, Message, Model, ModelError, ModelErrorKind, ToolCall,
};

/// No model.
pub(super) struct Nobody;

/// A conversation that ends in a call.
pub(super) fn conversation(call: ToolCall) -> [Message; 2] {
    let answer = AssistantMessage {
        blocks: vec![Block::ToolCall(call)],
        finish: FinishReason::ToolCalls,
        ..AssistantMessage::default()
    };
    [Message::User("".into()), Message::Assistant(answer)]
}

impl Model for Nobody {
    fn name(&self) -> &str {
        "nobody"
    }

    fn provider(&self) -> &str {
        "mcp"
    }

    fn generate<'a>(&'a self, _: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        let text = "a call of an MCP client runs in a chat without a model";
        let error = ModelError::new(ModelErrorKind::Configuration, text);
        Box::pin(std::future::ready(Err(error)))
    }
}
