//! Drives the server through the Rust SDK: does what the plan says and reports what it got, one line of JSON for each
//! check. `../../judges.mjs` says whether that is right.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, GetPromptRequestParams, Implementation, JsonObject, ReadResourceRequestParams,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ErrorData, RoleClient, ServiceExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

#[derive(Deserialize, Clone)]
struct Call {
    tool: String,
    arguments: JsonObject,
}

#[derive(Deserialize)]
struct Prompt {
    name: String,
    arguments: JsonObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    transport: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: HashMap<String, String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: HashMap<String, String>,
    calls: HashMap<String, Call>,
    resource: String,
    prompt: Prompt,
    typed: Value,
    call_seconds: u64,
}

/// The person at the client: what they answer, and what they were asked. Without an answer, the client cannot ask.
#[derive(Clone, Default)]
struct Human {
    answer: Option<ElicitResult>,
    questions: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Human {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.answer.as_ref().map(|_| ElicitationCapability::default());
        ClientConfig::new(capabilities, Implementation::new("driver", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, .. } = request {
            self.questions.lock().expect("questions").push(message);
        }
        Ok(self.answer.clone().unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }
}

type Session = RunningService<RoleClient, Human>;

fn say(line: &Value) {
    println!("\n@{line}");
}

fn report(check: &str, seen: Result<Value>) {
    let mut line = seen.unwrap_or_else(|error| json!({ "error": format!("{error:?}") }));
    line["check"] = json!(check);
    say(&line);
}

async fn open(plan: &Plan, human: Human) -> Result<Session> {
    if plan.transport == "stdio" {
        let mut command = Command::new(&plan.command);
        command.args(&plan.args).env_clear().envs(&plan.env);
        return Ok(human.serve(TokioChildProcess::new(command)?).await?);
    }
    let mut headers = HashMap::new();
    for (name, value) in &plan.headers {
        headers.insert(name.parse::<HeaderName>()?, value.parse::<HeaderValue>()?);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(plan.url.as_str()).custom_headers(headers);
    Ok(human.serve(StreamableHttpClientTransport::from_config(config)).await?)
}

/// All texts within what the SDK made of an answer, of whatever type it is.
fn text_in(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(text_in).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => match fields.get("text").or_else(|| fields.get("content")) {
            Some(Value::String(text)) => text.clone(),
            Some(inner) => text_in(inner),
            None => String::new(),
        },
        _ => String::new(),
    }
}

async fn call(session: &Session, called: &Call) -> Result<Value> {
    let params = CallToolRequestParams::new(called.tool.clone()).with_arguments(called.arguments.clone());
    let result = session.call_tool(params).await?;
    Ok(json!({
        "text": text_in(&serde_json::to_value(&result.content)?),
        "structured": result.structured_content,
        "isError": result.is_error.unwrap_or(false),
    }))
}

async fn page(session: &Session, plan: &Plan) -> Result<Value> {
    let first = call(session, &plan.calls["large"]).await?;
    let text = first["text"].as_str().unwrap_or_default();
    let (_, rest) = text.split_once("\"query_id\":\"").context("no query_id in the answer")?;
    let mut next = plan.calls["page"].clone();
    next.arguments.insert("query_id".into(), json!(rest.split('"').next()));
    call(session, &next).await
}

async fn typed(session: &Session, plan: &Plan) -> Result<Value> {
    let large = call(session, &plan.calls["large"]).await?;
    let issued = call(session, &plan.calls["issued"]).await?;
    Ok(json!({ "large": large["structured"], "issued": issued["structured"] }))
}

async fn tools(session: &Session) -> Result<Vec<(String, Value)>> {
    let listed = session.list_all_tools().await?;
    listed.into_iter().map(|tool| Ok((tool.name.to_string(), serde_json::to_value(&tool.input_schema)?))).collect()
}

async fn resource(session: &Session, plan: &Plan) -> Result<Value> {
    let read = session.read_resource(ReadResourceRequestParams::new(plan.resource.clone())).await?;
    Ok(json!({ "text": text_in(&serde_json::to_value(&read.contents)?) }))
}

async fn prompt(session: &Session, plan: &Plan) -> Result<Value> {
    let params = GetPromptRequestParams::new(plan.prompt.name.clone()).with_arguments(plan.prompt.arguments.clone());
    let got = session.get_prompt(params).await?;
    Ok(json!({ "text": text_in(&serde_json::to_value(&got.messages)?) }))
}

/// Deletes without a human in the client: one answers elsewhere, and the call is made again.
async fn unasked(session: &Session, plan: &Plan) -> Result<Value> {
    let first = call(session, &plan.calls["unasked"]).await?;
    say(&json!({ "ask": "approve", "text": first["text"] }));
    std::io::stdin().lock().read_line(&mut String::new())?;
    let second = call(session, &plan.calls["unasked"]).await?;
    Ok(json!({ "first": first, "second": second }))
}

async fn asked(plan: &Plan, check: &str, answer: ElicitResult) -> Result<Value> {
    let human = Human { answer: Some(answer), ..Human::default() };
    let questions = human.questions.clone();
    let session = open(plan, human).await?;
    let mut seen = call(&session, &plan.calls[check]).await?;
    seen["questions"] = json!(*questions.lock().expect("questions"));
    session.cancel().await?;
    Ok(seen)
}

async fn timed(plan: &Plan, work: impl Future<Output = Result<Value>>) -> Result<Value> {
    let time = Duration::from_secs(plan.call_seconds);
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| Err(anyhow!("no answer in {time:?}")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let plan: Plan = serde_json::from_str(&std::env::var("LIBRARY_PLAN")?)?;
    let lock = include_str!("../Cargo.lock");
    let (_, rmcp) = lock.split_once("name = \"rmcp\"\nversion = \"").context("no rmcp in Cargo.lock")?;
    say(&json!({ "version": rmcp.split('"').next() }));
    let session = open(&plan, Human::default()).await?;
    let listed = tools(&session).await?;
    report("list", Ok(json!({ "names": listed.iter().map(|(name, _)| name).collect::<Vec<_>>() })));
    report("convert", Ok(json!({ "forms": listed.into_iter().collect::<HashMap<_, _>>() })));
    report("query", timed(&plan, call(&session, &plan.calls["query"])).await);
    report("typed", timed(&plan, typed(&session, &plan)).await);
    report("page", timed(&plan, page(&session, &plan)).await);
    report("error", timed(&plan, call(&session, &plan.calls["error"])).await);
    report("resource", timed(&plan, resource(&session, &plan)).await);
    report("prompt", timed(&plan, prompt(&session, &plan)).await);
    report("unasked", timed(&plan, unasked(&session, &plan)).await);
    session.cancel().await?;
    let decline = ElicitResult::new(ElicitationAction::Decline);
    report("declined", timed(&plan, asked(&plan, "declined", decline)).await);
    let accept = ElicitResult::new(ElicitationAction::Accept).with_content(plan.typed.clone());
    report("accepted", timed(&plan, asked(&plan, "accepted", accept)).await);
    Ok(())
}
