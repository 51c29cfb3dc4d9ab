import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Drives the server through the Java SDK: does what the plan says and reports what it got, one line of JSON for each
 * check. ../../judges.mjs says whether that is right.
 */
public final class Driver {
  private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
  private static final Pattern QUERY_ID = Pattern.compile("\"query_id\":\"([0-9a-f-]{36})\"");

  private final Map<String, Object> plan;
  private final BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in));

  private Driver(Map<String, Object> plan) {
    this.plan = plan;
  }

  public static void main(String[] args) throws Exception {
    new Driver(object(JSON.readValue(System.getenv("LIBRARY_PLAN"), Map.class))).everything();
    System.exit(0);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private static List<String> texts(Object value) {
    return (List<String>) value;
  }

  private Map<String, String> strings(String key) {
    return object(plan.get(key)).entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> (String) entry.getValue()));
  }

  private static void say(Map<String, Object> line) throws Exception {
    System.out.println("\n@" + JSON.writeValueAsString(line));
    System.out.flush();
  }

  private static void attempt(String check, Callable<Map<String, Object>> work) throws Exception {
    Map<String, Object> line = new LinkedHashMap<>(Map.of("check", check));
    try {
      line.putAll(work.call());
    } catch (Exception error) {
      StringWriter trace = new StringWriter();
      error.printStackTrace(new PrintWriter(trace));
      line.put("error", trace.toString());
    }
    say(line);
  }

  private McpClientTransport transport() {
    if (plan.get("transport").equals("stdio")) {
      ServerParameters server = ServerParameters.builder((String) plan.get("command"))
          .args(texts(plan.get("args"))).env(strings("env")).build();
      return new StdioClientTransport(server, JSON);
    }
    URI url = URI.create((String) plan.get("url"));
    HttpRequest.Builder request = HttpRequest.newBuilder();
    strings("headers").forEach(request::header);
    return HttpClientStreamableHttpTransport.builder(url.resolve("/").toString())
        .endpoint(url.getPath()).requestBuilder(request).build();
  }

  /** Connects; without a human the client says that it cannot ask. */
  private McpSyncClient open(Function<McpSchema.ElicitFormRequest, McpSchema.ElicitResult> human) {
    Duration time = Duration.ofSeconds(((Number) plan.get("callSeconds")).longValue());
    McpClient.SyncSpec spec = McpClient.sync(transport()).requestTimeout(time).initializationTimeout(time);
    if (human != null) {
      spec = spec.capabilities(McpSchema.ClientCapabilities.builder().elicitation().build()).elicitation(human);
    }
    McpSyncClient client = spec.build();
    client.initialize();
    return client;
  }

  private Map<String, Object> call(McpSyncClient client, String name, Map<String, Object> more) {
    Map<String, Object> call = object(object(plan.get("calls")).get(name));
    Map<String, Object> arguments = new HashMap<>(object(call.get("arguments")));
    arguments.putAll(more);
    McpSchema.CallToolResult result =
        client.callTool(McpSchema.CallToolRequest.builder((String) call.get("tool")).arguments(arguments).build());
    Map<String, Object> seen = new HashMap<>();
    seen.put("text", result.content().stream().map(Driver::textOf).collect(Collectors.joining("\n")));
    seen.put("structured", result.structuredContent());
    seen.put("isError", Boolean.TRUE.equals(result.isError()));
    return seen;
  }

  private Map<String, Object> call(McpSyncClient client, String name) {
    return call(client, name, Map.of());
  }

  private static String textOf(McpSchema.Content content) {
    return content instanceof McpSchema.TextContent text ? text.text() : "";
  }

  private static List<McpSchema.Tool> tools(McpSyncClient client) {
    List<McpSchema.Tool> all = new ArrayList<>();
    String cursor = null;
    do {
      McpSchema.ListToolsResult page = client.listTools(cursor);
      all.addAll(page.tools());
      cursor = page.nextCursor();
    } while (cursor != null);
    return all;
  }

  private Map<String, Object> page(McpSyncClient client) {
    var found = QUERY_ID.matcher((String) call(client, "large").get("text"));
    if (!found.find()) {
      throw new IllegalStateException("no query_id in the answer");
    }
    return call(client, "page", Map.of("query_id", found.group(1)));
  }

  /** Deletes without a human in the client: one answers elsewhere, and the call is made again. */
  private Map<String, Object> unasked(McpSyncClient client) throws Exception {
    Map<String, Object> first = call(client, "unasked");
    say(Map.of("ask", "approve", "text", first.get("text")));
    stdin.readLine();
    return Map.of("first", first, "second", call(client, "unasked"));
  }

  private Map<String, Object> asked(String check, McpSchema.ElicitResult answer) {
    List<String> questions = new ArrayList<>();
    Function<McpSchema.ElicitFormRequest, McpSchema.ElicitResult> human = request -> {
      questions.add(request.message());
      return answer;
    };
    try (McpSyncClient client = open(human)) {
      Map<String, Object> seen = call(client, check);
      seen.put("questions", questions);
      return seen;
    }
  }

  private void checks(McpSyncClient client) throws Exception {
    attempt("list", () -> Map.of("names", tools(client).stream().map(McpSchema.Tool::name).toList()));
    attempt("convert", () -> Map.of("forms",
        tools(client).stream().collect(Collectors.toMap(McpSchema.Tool::name, McpSchema.Tool::inputSchema))));
    attempt("query", () -> call(client, "query"));
    attempt("typed", () -> Map.of("large", call(client, "large").get("structured"),
        "issued", call(client, "issued").get("structured")));
    attempt("page", () -> page(client));
    attempt("error", () -> call(client, "error"));
    attempt("resource", () -> {
      var read = client.readResource(new McpSchema.ReadResourceRequest((String) plan.get("resource")));
      return Map.of("text", ((McpSchema.TextResourceContents) read.contents().get(0)).text());
    });
    attempt("prompt", () -> {
      Map<String, Object> prompt = object(plan.get("prompt"));
      var got = client.getPrompt(
          new McpSchema.GetPromptRequest((String) prompt.get("name"), object(prompt.get("arguments"))));
      return Map.of("text", textOf(got.messages().get(0).content()));
    });
    attempt("unasked", () -> unasked(client));
  }

  private void everything() throws Exception {
    String jar = McpSyncClient.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    say(Map.of("version", jar.replaceAll(".*-([0-9.]+)\\.jar", "$1")));
    try (McpSyncClient client = open(null)) {
      checks(client);
    }
    attempt("declined",
        () -> asked("declined", McpSchema.ElicitResult.builder(McpSchema.ElicitResult.Action.DECLINE).build()));
    attempt("accepted", () -> asked("accepted",
        McpSchema.ElicitResult.builder(McpSchema.ElicitResult.Action.ACCEPT).content(object(plan.get("typed"))).build()));
  }
}
