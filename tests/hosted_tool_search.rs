//! C8, P2 (the provider's part): Anthropic and OpenAI's Responses search deferred tools themselves; a chat
//! that moves from one provider to another goes on.

mod support;

use serde_json::{Value, json};
use support::chat::{echo, results, set};
use support::server::{Reply, Server};
use tool_core::model::RemoteMcp;
use tool_core::{Chat, Message, RequestOptions};
use tool_providers::protocol::responses::Dialect;
use tool_providers::{Anthropic, Api, Compatible, Provider};

fn anthropic_search() -> Value {
    json!([
        { "type": "thinking", "thinking": "Which tool?", "signature": "c2ln" },
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": { "query": "rare" } },
        { "type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1",
          "content": { "type": "tool_search_tool_search_result", "tool_references": [{ "type": "tool_reference", "tool_name": "rare" }] } },
        { "type": "tool_use", "id": "toolu_1", "name": "rare", "input": {}, "caller": { "type": "direct" } },
    ])
}

fn anthropic(content: Value, stop: &str) -> Reply {
    let usage = json!({ "input_tokens": 3, "output_tokens": 4 });
    Reply::json(
        200,
        json!({ "model": "m", "role": "assistant", "content": content, "stop_reason": stop, "usage": usage }),
    )
}

fn responses_search() -> Value {
    json!([
        { "type": "tool_search_call", "id": "tsc_1", "call_id": null, "execution": "server", "status": "completed", "arguments": { "paths": ["rare"] } },
        { "type": "tool_search_output", "id": "tso_1", "call_id": null, "execution": "server", "status": "completed", "tools": [] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "rare", "namespace": "rare", "arguments": "{}" },
    ])
}

fn responses(output: Value) -> Reply {
    Reply::json(
        200,
        json!({ "status": "completed", "model": "m", "output": output, "usage": { "input_tokens": 3, "output_tokens": 4 } }),
    )
}

fn said(text: &str) -> Value {
    json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }])
}

fn chat(provider: &Provider) -> Chat {
    Chat::new(provider.model("m"))
        .with_tools(set([echo("usual")]))
        .with_deferred_tools(set([echo("rare")]))
}

#[tokio::test]
async fn anthropic_searches_and_what_it_found_is_sent_back_c8() {
    let text = json!([{ "type": "text", "text": "done" }]);
    let server = Server::start([
        anthropic(anthropic_search(), "tool_use"),
        anthropic(text, "end_turn"),
    ])
    .await;
    let provider = Anthropic::new("key").base_url(&server.address);
    let mut chat = chat(&provider);
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(results(&chat)[0].text, "rare");

    let asked = server.asked();
    let tools = asked[0].json()["tools"].clone();
    assert_eq!(tools[0]["name"], "usual");
    assert_eq!(tools[0].get("defer_loading"), None);
    assert_eq!(tools[1]["name"], "rare");
    assert_eq!(tools[1]["defer_loading"], true);
    let search =
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" });
    assert_eq!(tools[2], search);
    assert_eq!(tools.as_array().unwrap().len(), 3, "no search of our own");
    assert_eq!(asked[0].header("anthropic-beta"), None);
    let again = asked[1].json();
    assert_eq!(again["tools"], tools, "the tools stay as they are");
    assert_eq!(again["messages"][1]["content"], anthropic_search());

    // Without deferred tools there is no search that its blocks could belong to.
    let text = json!([{ "type": "text", "text": "bye" }]);
    let server = Server::start([anthropic(text, "end_turn")]).await;
    let provider = Anthropic::new("key").base_url(&server.address);
    let mut later = Chat::new(provider.model("m")).with_messages(chat.messages().to_vec());
    assert_eq!(later.ask("bye").await.unwrap().text(), "bye");
    let content = server.asked()[0].json()["messages"][1]["content"].clone();
    let all = anthropic_search();
    assert_eq!(content, json!([all[0], all[3]]));
}

#[tokio::test]
async fn responses_searches_and_what_it_found_is_sent_back_c8() {
    let server = Server::start([responses(responses_search()), responses(said("done"))]).await;
    let provider = Compatible::at(&server.address).api(Api::Responses(Dialect::OPENAI));
    let mut chat = chat(&provider);
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    let asked = server.asked();
    let tools = asked[0].json()["tools"].clone();
    assert_eq!(tools[1]["defer_loading"], true);
    assert_eq!(tools[2], json!({ "type": "tool_search" }));
    let input = asked[1].json()["input"].clone();
    let replayed = Value::from(input.as_array().unwrap()[1..4].to_vec());
    assert_eq!(replayed, responses_search());
}

#[tokio::test]
async fn a_chat_moves_from_provider_to_provider_c8() {
    let messages: Vec<Message> = {
        let text = json!([{ "type": "text", "text": "from anthropic" }]);
        let server = Server::start([
            anthropic(anthropic_search(), "tool_use"),
            anthropic(text, "end_turn"),
        ])
        .await;
        let mut chat = chat(&Anthropic::new("key").base_url(&server.address));
        chat.ask("one").await.unwrap();
        chat.messages().to_vec()
    };
    // To a host without a search: ours takes over.
    let messages: Vec<Message> = {
        let call = json!({ "id": "c1", "type": "function", "function": { "name": "call_tool", "arguments": "{\"name\":\"rare\",\"arguments\":{}}" } });
        let server = Server::start([
            Reply::json(200, json!({ "choices": [{ "message": { "content": "", "tool_calls": [call] }, "finish_reason": "tool_calls" }] })),
            Reply::json(200, json!({ "choices": [{ "message": { "content": "from chat" }, "finish_reason": "stop" }] })),
        ])
        .await;
        let mut chat = chat(&Compatible::at(&server.address)).with_messages(messages);
        assert_eq!(chat.ask("two").await.unwrap().text(), "from chat");
        let body = server.asked()[0].json();
        let names: Vec<&str> = body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["usual", "search_tools", "call_tool"]);
        let call = &body["messages"][1]["tool_calls"][0];
        assert_eq!(
            (&call["function"]["name"], &call["id"]),
            (&json!("rare"), &json!("toolu_1"))
        );
        assert!(
            !body.to_string().contains("Which tool?"),
            "reasoning of another provider"
        );
        chat.messages().to_vec()
    };
    // And on to Responses, which searches itself again.
    let server = Server::start([
        responses(responses_search()),
        responses(said("from responses")),
    ])
    .await;
    let provider = Compatible::at(&server.address).api(Api::Responses(Dialect::OPENAI));
    let mut chat = chat(&provider).with_messages(messages);
    assert_eq!(chat.ask("three").await.unwrap().text(), "from responses");
    let input = server.asked()[0].json()["input"].clone();
    let kinds: Vec<&str> = input
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().or(item["role"].as_str()).unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "user",
            "function_call",
            "function_call_output",
            "assistant",
            "user",
            "function_call",
            "function_call_output",
            "assistant",
            "user",
        ]
    );
}

/// A server that waits to be searched for could never be found without a search.
#[tokio::test]
async fn a_remote_server_that_is_deferred_is_searched_too_c8() {
    let bm25 = json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" });
    let text = anthropic(json!([{ "type": "text", "text": "done" }]), "end_turn");
    for (reply, provider, search) in [
        (text, Anthropic::new("key"), bm25),
        (
            responses(said("done")),
            Compatible::at("http://localhost").api(Api::Responses(Dialect::OPENAI)),
            json!({ "type": "tool_search" }),
        ),
    ] {
        let server = Server::start([reply]).await;
        let provider = provider.base_url(&server.address);
        let wiki = || RemoteMcp::new("wiki", "https://wiki.example/mcp").without_approval();
        for (tools, options, expected) in [
            (set([]), RequestOptions::new().remote_mcp(wiki()), 0),
            (
                set([]),
                RequestOptions::new().remote_mcp(wiki().deferred()),
                1,
            ),
            (
                set([echo("rare")]),
                RequestOptions::new().remote_mcp(wiki().deferred()),
                1,
            ),
        ] {
            let chat = Chat::new(provider.model("m")).with_deferred_tools(tools);
            let mut chat = chat.with_request_options(options);
            assert_eq!(chat.ask("go").await.unwrap().text(), "done");
            let tools = server.asked().last().unwrap().json()["tools"].clone();
            let searches = tools.as_array().unwrap().iter();
            assert_eq!(
                searches.filter(|tool| **tool == search).count(),
                expected,
                "{tools}"
            );
        }
    }
}
