//! C3, P2 (the provider's part): calls that the provider runs on remote MCP servers wait for decisions in
//! the same list as our own.

mod support;

use serde_json::{Value, json};
use support::asking::{Asking, call};
use support::chat::{assert_paired, outcomes, results, tool};
use support::server::{Reply, Server};
use tool_core::model::RemoteMcp;
use tool_core::{
    Attachment, AttachmentSource, Block, Chat, ChatErrorKind, ModelErrorKind, Outcome,
    RequestOptions, ToolCall, ToolChoice, ToolOptions, ToolSet, Turn,
};
use tool_providers::protocol::responses::Dialect;
use tool_providers::{Anthropic, Api, Compatible, Gemini, Provider};

fn request(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "mcp_approval_request", "server_label": "links", "name": name, "arguments": arguments })
}

/// An answer that wants two remote calls and one of ours.
fn wanting() -> Value {
    json!({
        "id": "resp_1", "status": "completed", "model": "m", "error": null,
        "output": [
            { "id": "mcpl_1", "type": "mcp_list_tools", "server_label": "links", "tools": [] },
            { "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA" },
            request("mcpr_1", "shorten", "{\"url\":\"https://example.com\"}"),
            { "id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "local", "arguments": "" },
            request("mcpr_2", "delete", "{\"all\":true}"),
        ],
        "usage": { "input_tokens": 5, "output_tokens": 7 },
    })
}

fn done() -> Value {
    json!({
        "id": "resp_2", "status": "completed", "model": "m", "error": null,
        "output": [
            { "id": "mcp_1", "type": "mcp_call", "server_label": "links", "name": "shorten", "arguments": "{}",
              "approval_request_id": "mcpr_1", "output": "https://s.example.com/1", "error": null },
            { "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
              "content": [{ "type": "output_text", "text": "It is https://s.example.com/1.", "annotations": [] }] },
        ],
        "usage": { "input_tokens": 5, "output_tokens": 7 },
    })
}

/// The same answer in events.
fn streamed(answer: &Value) -> Reply {
    let mut events = vec![
        json!({ "type": "response.created", "response": { "status": "in_progress", "model": "m" } }),
    ];
    for (index, item) in answer["output"].as_array().unwrap().iter().enumerate() {
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
        );
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    }
    events.push(json!({ "type": "response.completed", "response": answer }));
    let event = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    };
    Reply::stream(events.iter().map(event))
}

fn provider(server: &Server) -> Provider {
    Compatible::at(&server.address)
        .api(Api::Responses(Dialect::OPENAI))
        .retries(0)
}

fn links() -> RemoteMcp {
    RemoteMcp::new("links", "https://links.example.com/mcp")
        .description("Shortens links")
        .authorization("token-1")
        .allowed_tools(["shorten", "delete"])
}

fn chat(server: &Server, streaming: bool) -> Chat {
    let local = tool("local", || async { Ok("ran here".into()) });
    Chat::new(provider(server).model("m"))
        .with_tools(ToolSet::from_tools([local]))
        .with_streaming(streaming)
        .with_request_options(RequestOptions::new().remote_mcp(links()))
}

#[tokio::test]
async fn remote_calls_are_decided_with_ours_and_the_provider_is_told_c3() {
    for streaming in [false, true] {
        let replies = match streaming {
            false => [wanting(), done()].map(|answer| Reply::json(200, answer)),
            true => [wanting(), done()].map(|answer| streamed(&answer)),
        };
        let server = Server::start(replies).await;
        let mut chat = chat(&server, streaming);
        let turn = chat.ask("shorten it").await.unwrap();
        let pending = turn.pending_approvals();
        let told: Vec<_> = pending
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.server.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("mcpr_1", "shorten", Some("links")),
                ("mcpr_2", "delete", Some("links"))
            ]
        );
        assert_eq!(pending[1].arguments.as_str(), "{\"all\":true}");

        let error = chat.approve_with(&pending[0], json!({})).unwrap_err();
        assert_eq!(error.kind(), ChatErrorKind::InvalidInput);
        chat.deny_with_reason(&pending[1], "not all of them")
            .unwrap();
        chat.approve(&pending[0]).unwrap();
        let turn = chat.complete().await.unwrap();
        assert_eq!(turn.text(), "It is https://s.example.com/1.");
        assert_paired(chat.messages());
        assert_eq!(
            outcomes(&chat),
            [Outcome::Approved, Outcome::Ok, Outcome::Denied]
        );
        assert_eq!(results(&chat)[1].text, "ran here");

        let asked = server.asked();
        let declared = &asked[0].json()["tools"][1];
        assert_eq!(
            *declared,
            json!({
                "type": "mcp", "server_label": "links", "server_url": "https://links.example.com/mcp",
                "server_description": "Shortens links", "require_approval": "always",
                "allowed_tools": ["shorten", "delete"], "authorization": "token-1",
            })
        );
        // All that came is sent back, then each call is answered, in order.
        let input = asked[1].json()["input"].clone();
        let replayed: Vec<Value> = input.as_array().unwrap()[1..6].to_vec();
        assert_eq!(Value::from(replayed), wanting()["output"]);
        assert_eq!(
            Value::from(input.as_array().unwrap()[6..].to_vec()),
            json!([
                { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
                { "type": "function_call_output", "call_id": "call_1", "output": "ran here" },
                { "type": "mcp_approval_response", "approval_request_id": "mcpr_2", "approve": false, "reason": "not all of them" },
            ])
        );
    }
}

/// A call of the provider's is one too: with none of ours, and no second one is demanded.
#[tokio::test]
async fn a_required_call_may_be_one_that_the_provider_runs_c2_c3() {
    let mut answer = wanting();
    answer["output"] = json!([request("mcpr_1", "shorten", "{}")]);
    for approves in [true, false] {
        let replies = [answer.clone(), done()].map(|answer| Reply::json(200, answer));
        let server = Server::start(replies).await;
        let mut chat = Chat::new(provider(&server).model("m"))
            .with_request_options(RequestOptions::new().remote_mcp(links()))
            .with_tool_options(ToolOptions::new().choice(ToolChoice::Required));
        let turn = chat.ask("shorten it").await.unwrap();
        match approves {
            true => chat.approve(&turn.pending_approvals()[0]).unwrap(),
            false => chat.deny(&turn.pending_approvals()[0]).unwrap(),
        }
        chat.complete().await.unwrap();
        let asked = server.asked();
        assert_eq!(asked[0].json()["tool_choice"], "required");
        assert_eq!(asked[1].json()["tool_choice"], Value::Null);
    }
}

#[tokio::test]
async fn a_remote_call_that_is_given_up_is_refused_c7() {
    let server = Server::start([wanting(), done()].map(|answer| Reply::json(200, answer))).await;
    let mut chat = chat(&server, false);
    chat.ask("shorten it").await.unwrap();
    chat.cancel_handle().cancel();
    assert_eq!(chat.complete().await.unwrap(), Turn::Cancelled);
    chat.ask("never mind").await.unwrap();
    let input = server.asked()[1].json()["input"].clone();
    let answers: Vec<&Value> = input
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "mcp_approval_response")
        .collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["approve"] == false));
}

#[tokio::test]
async fn a_provider_that_cannot_ask_is_not_handed_a_server_that_must_p2() {
    let server = Server::start([Reply::json(200, done())]).await;
    for provider in [
        Anthropic::new("key").base_url(&server.address),
        Gemini::new("key").base_url(&server.address),
        Compatible::at(&server.address),
        Compatible::at(&server.address).api(Api::responses()),
    ] {
        let options = RequestOptions::new().remote_mcp(links());
        let mut chat = Chat::new(provider.model("m")).with_request_options(options);
        let error = chat.ask("go").await.unwrap_err();
        let error = error.model_error().unwrap();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert!(error.message().contains("links"), "{error}");
        assert!(!format!("{error} {error:?}").contains("token-1"));
    }
    assert!(server.asked().is_empty());
    assert!(!format!("{:?}", links()).contains("token-1"));
}

#[tokio::test]
async fn a_chat_with_remote_calls_goes_on_with_another_provider_c8() {
    let first = Server::start([wanting(), done()].map(|answer| Reply::json(200, answer))).await;
    let mut chat = chat(&first, false);
    let turn = chat.ask("shorten it").await.unwrap();
    for call in turn.pending_approvals() {
        chat.approve(call).unwrap();
    }
    chat.complete().await.unwrap();

    let answer =
        json!({ "choices": [{ "message": { "content": "yes" }, "finish_reason": "stop" }] });
    let second = Server::start([Reply::json(200, answer)]).await;
    let messages = chat.messages().to_vec();
    let mut chat = Chat::new(Compatible::at(&second.address).model("m")).with_messages(messages);
    assert_eq!(chat.ask("thanks").await.unwrap().text(), "yes");
    let body = second.asked()[0].json();
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(messages[1]["tool_calls"].as_array().unwrap().len(), 1);
}

/// An image of our own result goes to every other provider, also where a remote call was the last one.
#[test]
fn what_a_result_carries_is_sent_beside_a_remote_call_of_another_provider() {
    let mut without = Dialect::OPENAI;
    without.attachments_in_results = false;
    for api in [
        Api::chat_completions(),
        Api::responses(),
        Api::Responses(without),
        Api::anthropic(),
        Api::Gemini,
        Api::Ollama,
    ] {
        let mut asking = Asking::new(api);
        let remote = ToolCall::new("mcpr_1", "shorten", "{}").on_server("links");
        asking.answered_elsewhere([call("a", "{}"), Block::ToolCall(remote)]);
        let image = Attachment::from_bytes("image/png", b"a picture of it");
        let AttachmentSource::Base64(data) = image.source.clone() else {
            panic!("{image:?}")
        };
        asking.result_with("a", "ok", "seen", vec![image]);
        asking.result("mcpr_1", "approved", "Approved.");
        let body = asking.body().to_string();
        assert!(body.contains(&data), "{body}");
        assert!(!body.contains("mcpr_1"), "{body}");
    }
}
