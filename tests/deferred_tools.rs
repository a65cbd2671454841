//! C8, R5, and CASES.md B79, B130, B131: deferred tools.

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use support::chat::{Log, echo, outcomes, results, set};
use support::server::{Reply, Server};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Chat, ChatErrorKind, FunctionTool, Outcome, Tool, ToolChoice, ToolError, ToolOptions, ToolSet,
    Turn, tool, tools,
};
use tool_providers::Compatible;

/// Sends an email.
#[tool(defer, requires_approval)]
async fn send_email(
    /// The address of the recipient.
    to: String,
) -> String {
    format!("sent to {to}")
}

/// Reads the calendar of a week.
#[tool(defer)]
async fn list_events(
    /// The number of the week.
    week: u32,
) -> String {
    format!("nothing in week {week}")
}

/// Tells the time.
#[tool]
async fn clock() -> &'static str {
    "noon"
}

fn numbered(number: usize) -> Arc<dyn Tool> {
    let schema = json!({ "type": "object" });
    let run = async |_: Value| Ok::<_, ToolError>("ran");
    Arc::new(
        FunctionTool::new(
            format!("tool_{number}"),
            format!("Handles records of kind {number}."),
            schema,
            run,
        )
        .unwrap(),
    )
}

#[tokio::test]
async fn deferred_tools_are_found_and_called_with_every_provider_c8_b130() {
    let log = Log::default();
    let seen = log.clone();
    let model = ScriptedModel::new()
        .call(
            "search_tools",
            json!({ "query": "write an email to somebody" }),
        )
        .call(
            "call_tool",
            json!({ "name": "send_email", "arguments": { "to": "ada" } }),
        )
        .text("sent");
    let mut chat = Chat::new(model.clone())
        .with_tools(tools![Clock, SendEmail, ListEvents])
        .before_tool_call(move |call| seen.add(format!("{} {}", call.name, call.arguments)));
    assert_eq!(chat.deferred_tools(), ["send_email", "list_events"]);
    let turn = chat.ask("Write to Ada").await.unwrap();
    let call = &turn.pending_approvals()[0];
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("send_email", "{\"to\":\"ada\"}")
    );
    chat.approve(call).unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "sent");
    let results = results(&chat);
    assert!(results[0].text.starts_with("Call one of these with `call_tool`:\n\nsend_email: Sends an email.\narguments: {\"type\":\"object\""));
    assert_eq!(
        (results[1].name.as_str(), results[1].text.as_str()),
        ("send_email", "sent to ada")
    );
    assert_eq!(log.lines()[1], "send_email {\"to\":\"ada\"}");
    for request in model.requests() {
        assert_eq!(
            request.tools,
            ["clock", "search_tools", "call_tool"],
            "the tools never change"
        );
    }
}

#[tokio::test]
async fn a_deferred_tool_that_was_not_found_yet_can_be_called_c8() {
    let model = ScriptedModel::new()
        .call("list_events", json!({ "week": 7 }))
        .call(
            "call_tool",
            json!({ "name": "list_events", "arguments": "{\"week\": 8}" }),
        )
        .call(
            "call_tool",
            json!({ "name": "list_events", "arguments": { "week": "x", "day": 1 } }),
        )
        .call("call_tool", json!({ "name": "clock", "arguments": {} }))
        .call("call_tool", json!({ "name": "nope", "arguments": {} }))
        .call("call_tool", json!({ "arguments": {} }))
        .call("call_tool", json!({ "name": "call_tool", "arguments": {} }))
        .text("done");
    let mut chat = Chat::new(model).with_tools(tools![Clock, ListEvents]);
    chat.ask("go").await.unwrap();
    let texts: Vec<String> = results(&chat)
        .into_iter()
        .map(|result| result.text)
        .collect();
    assert_eq!(texts[0], "nothing in week 7");
    assert_eq!(texts[1], "nothing in week 8");
    assert!(
        texts[2].contains("/week: expected an integer")
            && texts[2].contains("unknown key `day`; the known keys are `week`"),
        "{}",
        texts[2]
    );
    assert_eq!(texts[3], "noon");
    assert_eq!(
        texts[4],
        "There is no tool `nope`. The tools are: clock, search_tools, call_tool."
    );
    assert!(texts[5].contains("missing `name`"), "{}", texts[5]);
    assert!(texts[6].contains("not itself"), "{}", texts[6]);
}

#[tokio::test]
async fn unknown_tools_do_not_leak_the_catalogue_b79() {
    let hidden = ToolSet::from_tools((0..50).map(numbered));
    let model = ScriptedModel::new().call("nope", json!({})).text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("known")]))
        .with_deferred_tools(hidden);
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Error]);
    assert_eq!(
        results(&chat)[0].text,
        "There is no tool `nope`. The tools are: known, search_tools, call_tool."
    );
}

#[tokio::test]
async fn the_tools_block_is_the_same_bytes_in_every_request_b131() {
    let call = |name: &str, arguments: Value| {
        let call = json!({ "id": "c", "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
        Reply::json(
            200,
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [call] }, "finish_reason": "tool_calls" }] }),
        )
    };
    let server = Server::start([
        call("search_tools", json!({ "query": "kind 17" })),
        call("call_tool", json!({ "name": "tool_17", "arguments": {} })),
        Reply::json(
            200,
            json!({ "choices": [{ "message": { "content": "done" }, "finish_reason": "stop" }] }),
        ),
    ])
    .await;
    let eager = ToolSet::from_tools((0..5).map(numbered));
    let hidden = ToolSet::from_tools((5..50).map(numbered));
    let mut chat = Chat::new(Compatible::at(&server.address).model("m"))
        .with_tools(eager)
        .with_deferred_tools(hidden);
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert!(
        results(&chat)[0]
            .text
            .contains("\n\ntool_17: Handles records of kind 17.")
    );
    assert_eq!(results(&chat)[1].text, "ran");
    let blocks: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| {
            let body = String::from_utf8(asked.body.clone()).unwrap();
            assert_eq!(
                asked.json()["tools"].as_array().unwrap().len(),
                7,
                "5 and the two that search"
            );
            let start = body.find("\"tools\":[").unwrap();
            body[start..body.find("\"messages\"").unwrap()].to_owned()
        })
        .collect();
    assert_eq!(blocks.len(), 3);
    assert!(blocks.iter().all(|block| *block == blocks[0]));
}

#[tokio::test]
async fn deferral_is_by_type_by_instance_or_by_chat_c8() {
    let names = |set: &ToolSet| set.visible().names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(&tools![Clock]), ["clock"]);
    assert_eq!(
        names(&tools![Clock.deferred()]),
        ["search_tools", "call_tool"]
    );
    assert_eq!(names(&tools![ListEvents.offered()]), ["list_events"]);
    assert_eq!(
        names(&tools![Clock.renamed("time"), ListEvents]),
        ["time", "search_tools", "call_tool"]
    );
    let chat = Chat::new(ScriptedModel::new())
        .with_tools(tools![ListEvents.offered()])
        .with_deferred_tools(tools![Clock]);
    assert_eq!(chat.deferred_tools(), ["clock"]);
    let set = ToolSet::from_tools([echo("search_tools"), Arc::new(Clock.deferred())]);
    assert_eq!(
        names(&set),
        ["search_tools", "find_tools", "call_tool"],
        "the user's own name is left alone"
    );
}

/// What may be called only after a search needs the search; what may not is not found.
#[tokio::test]
async fn a_subset_may_hold_deferred_tools_c2_c8() {
    let chat = |server: &Server, only: &[&str]| {
        Chat::new(Compatible::at(&server.address).model("m"))
            .with_tools(ToolSet::from_tools((0..2).map(numbered)))
            .with_deferred_tools(ToolSet::from_tools((5..9).map(numbered)))
            .with_tool_options(ToolOptions::new().only(only.iter().copied()))
    };
    let call = |name: &str, arguments: Value| {
        let call = json!({ "id": "c", "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
        Reply::json(
            200,
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [call] }, "finish_reason": "tool_calls" }] }),
        )
    };
    let found = |name: &str| call("call_tool", json!({ "name": name, "arguments": {} }));
    let done = Reply::json(
        200,
        json!({ "choices": [{ "message": { "content": "done" }, "finish_reason": "stop" }] }),
    );
    let server = Server::start([
        call("search_tools", json!({ "query": "records of a kind" })),
        found("tool_6"),
        found("tool_7"),
        done.clone(),
    ])
    .await;
    let mut both = chat(&server, &["tool_1", "tool_6"]);
    assert_eq!(both.ask("go").await.unwrap().text(), "done");
    let declared = |server: &Server| -> Vec<String> {
        let tools = server.asked()[0].json()["tools"].clone();
        let tools = tools.as_array().into_iter().flatten();
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        tools.map(name).collect()
    };
    assert_eq!(declared(&server), ["tool_1", "search_tools", "call_tool"]);
    let said = results(&both);
    assert!(said[0].text.contains("tool_6:") && !said[0].text.contains("tool_7:"));
    assert_eq!(outcomes(&both), [Outcome::Ok, Outcome::Ok, Outcome::Error]);
    assert!(
        said[2].text.contains("cannot be called now"),
        "{}",
        said[2].text
    );

    let server = Server::start([done]).await;
    chat(&server, &["tool_1"]).ask("go").await.unwrap();
    assert_eq!(declared(&server), ["tool_1"], "nothing is left to be found");
}

#[tokio::test]
async fn a_deferred_tool_cannot_be_forced_c2_c8() {
    let mut chat = Chat::new(ScriptedModel::new())
        .with_tools(tools![Clock, ListEvents])
        .with_tool_options(ToolOptions::new().choice(ToolChoice::of::<ListEvents>()));
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Configuration);
    assert!(error.to_string().contains("is deferred"), "{error}");
}

async fn best(query: &str) -> Vec<String> {
    let tool = |name: &str, description: &str, parameter: &str| -> Arc<dyn Tool> {
        let schema = json!({ "type": "object", "properties": { parameter: { "type": "string" } } });
        let run = async |_: Value| Ok::<_, ToolError>(1);
        Arc::new(
            FunctionTool::new(name, description, schema, run)
                .unwrap()
                .deferred(),
        )
    };
    let set = ToolSet::from_tools([
        tool(
            "create_invoice",
            "Creates an invoice for a customer.",
            "customer_id",
        ),
        tool("list_invoices", "Lists invoices.", "status"),
        tool("sendEmail", "Sends a message to an address.", "recipient"),
        tool(
            "translate_text",
            "Translates text between languages.",
            "target_language",
        ),
    ]);
    let model = ScriptedModel::new()
        .call("search_tools", json!({ "query": query, "limit": 3 }))
        .text("done");
    let mut chat = Chat::new(model).with_tools(set);
    let Turn::Answer(_) = chat.ask("go").await.unwrap() else {
        panic!()
    };
    let text = results(&chat).remove(0).text;
    let blocks = text.split("\n\n").skip(1);
    blocks
        .map(|block| block.split(':').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_search_ranks_by_name_description_and_parameters_c8() {
    assert_eq!(best("invoice").await, ["list_invoices", "create_invoice"]);
    assert_eq!(best("create an invoice").await[0], "create_invoice");
    assert_eq!(best("EMAIL").await, ["sendEmail"]);
    assert_eq!(best("recipient").await, ["sendEmail"]);
    assert_eq!(best("languages").await, ["translate_text"]);
    assert_eq!(best("customers").await, ["create_invoice"]);
    assert!(best("weather").await.is_empty());
    assert!(best("!?").await.is_empty());
}
