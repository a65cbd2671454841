//! Spans by the OpenTelemetry conventions for generative AI
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>), with the feature `tracing`.

#[cfg(feature = "tracing")]
pub(crate) use with::{chat, tool};
#[cfg(not(feature = "tracing"))]
pub(crate) use without::{chat, tool};

/// What is told of a request.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "nobody is told"))]
pub(crate) struct ChatSpan<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) chat: &'a str,
}

#[cfg(feature = "tracing")]
mod with {
    use tracing::field::Empty;
    use tracing::{Instrument, Span, info_span};

    use super::ChatSpan;
    use crate::run::execute::{Order, Ran, execute};
    use crate::{AssistantMessage, ModelError, Outcome};

    /// A request to a model.
    pub(crate) async fn chat(
        span: ChatSpan<'_>,
        request: impl Future<Output = Option<Result<AssistantMessage, ModelError>>>,
    ) -> Option<Result<AssistantMessage, ModelError>> {
        let span = info_span!(
            "chat",
            otel.name = format!("chat {}", span.model),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = span.provider,
            gen_ai.request.model = span.model,
            gen_ai.conversation.id = span.chat,
            gen_ai.response.model = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            error.r#type = Empty,
        );
        let answer = request.instrument(span.clone()).await;
        match &answer {
            Some(Ok(answer)) => {
                span.record("gen_ai.response.model", answer.model.as_str());
                span.record("gen_ai.usage.input_tokens", answer.usage.input_tokens);
                span.record("gen_ai.usage.output_tokens", answer.usage.output_tokens);
            }
            Some(Err(error)) => {
                span.record("error.type", format!("{:?}", error.kind()));
            }
            None => {
                span.record("error.type", "cancelled");
            }
        }
        answer
    }

    /// A run of a tool.
    pub(crate) async fn tool(order: Order, contents: bool) -> Ran {
        let span = info_span!(
            "execute_tool",
            otel.name = format!("execute_tool {}", order.call.name),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = order.call.name,
            gen_ai.tool.r#type = "function",
            gen_ai.tool.call.id = order.call.id,
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            error.r#type = Empty,
        );
        if contents {
            span.record("gen_ai.tool.call.arguments", order.call.arguments.as_str());
        }
        let ran = execute(order).instrument(span.clone()).await;
        record(&span, &ran, contents);
        ran
    }

    fn record(span: &Span, ran: &Ran, contents: bool) {
        let (Ran::Done(result) | Ran::Fatal(result, _)) = ran else {
            return;
        };
        if result.outcome != Outcome::Ok {
            span.record("error.type", format!("{:?}", result.outcome));
        }
        if contents {
            span.record("gen_ai.tool.call.result", result.text.as_str());
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod without {
    use super::ChatSpan;
    use crate::run::execute::{Order, Ran, execute};
    use crate::{AssistantMessage, ModelError};

    pub(crate) async fn chat(
        _: ChatSpan<'_>,
        request: impl Future<Output = Option<Result<AssistantMessage, ModelError>>>,
    ) -> Option<Result<AssistantMessage, ModelError>> {
        request.await
    }

    pub(crate) async fn tool(order: Order, _contents: bool) -> Ran {
        execute(order).await
    }
}
