import com.google.gson.Gson;
import com.rockset.client.ApiException;
import com.rockset.client.RocksetClient;
import com.rockset.client.model.*;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Function;

/** Drives the Java client `rockset-java` over its endpoints; prints a line per call: its operation, and what is wrong. */
public class Driver {
  private static final String WS = "java";
  private static final String COLL = "orders";

  /** `expected` is what `read` has to find in the answer. */
  private static <T> T step(String operation, Callable<T> call, Function<T, Object> read, Object expected) {
    T answer = null;
    String wrong = null;
    try {
      answer = call.call();
      Object found = read.apply(answer);
      if (!Objects.equals(found, expected)) wrong = found + " instead of " + expected;
    } catch (Throwable error) {
      wrong = error.toString();
    }
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("call", operation);
    line.put("wrong", wrong == null ? null : wrong.replaceAll("\\s+", " "));
    System.out.println(new Gson().newBuilder().serializeNulls().create().toJson(line));
    return answer;
  }

  public static void main(String[] args) throws Exception {
    RocksetClient rs = new RocksetClient(args[1], args[0]);
    step("getOrganization", () -> rs.organizations.get(), a -> a.getData().getId() != null, true);
    containers(rs);
    documents(rs);
    String query = "SELECT kind, count(*) AS n FROM " + WS + "." + COLL
        + " WHERE n >= :least GROUP BY kind ORDER BY kind";
    QueryParameter least = new QueryParameter().name("least").type("int").value("0");
    queries(rs, query, least);
    aliases(rs);
    lambdas(rs, query, least);
    users(rs, args[0]);
    integrations(rs);
    virtualInstances(rs);
    Callable<Object> mistake = () -> {
      try {
        return rs.queries.query(new QueryRequest().sql(new QueryRequestSql().query("SELECT nothing FROM nowhere")));
      } catch (ApiException error) {
        return error.getCode();
      }
    };
    step("an error", mistake, a -> a, 400);
    step("deleteCollection", () -> rs.collections.delete(WS, COLL), a -> a.getData().getName(), COLL);
    step("deleteWorkspace", () -> rs.workspaces.delete(WS), a -> a.getData().getName(), WS);
    // The client leaves threads behind.
    System.exit(0);
  }

  private static void containers(RocksetClient rs) {
    step("createWorkspace", () -> rs.workspaces.create(new CreateWorkspaceRequest().name(WS)), a -> a.getData().getName(), WS);
    step("getWorkspace", () -> rs.workspaces.get(WS), a -> a.getData().getCollectionCount(), 0L);
    step("listWorkspaces", () -> rs.workspaces.list(), a -> a.getData().stream().anyMatch(w -> WS.equals(w.getName())), true);
    CreateCollectionRequest made = new CreateCollectionRequest()
        .name(COLL)
        .retentionSecs(86_400L * 365)
        .eventTimeInfo(new EventTimeInfo().field("at"));
    step("createCollection", () -> rs.collections.create(WS, made), a -> a.getData().getStatus(), Collection.StatusEnum.CREATED);
    step("getCollection", () -> rs.collections.get(WS, COLL), a -> a.getData().getStatus(), Collection.StatusEnum.READY);
    step("listCollections", () -> rs.collections.list(), a -> a.getData().stream().anyMatch(c -> COLL.equals(c.getName())), true);
    step("listWorkspaceCollections", () -> rs.collections.workspace(WS), a -> a.getData().get(0).getStats().getDocCount(), 0L);
  }

  private static void documents(RocksetClient rs) {
    List<Object> data = new ArrayList<>();
    for (int n = 0; n < 10; n++) {
      Map<String, Object> document = new LinkedHashMap<>();
      document.put("_id", String.valueOf(n));
      document.put("n", n);
      document.put("kind", n % 2 == 1 ? "odd" : "even");
      data.add(document);
    }
    step("addDocuments", () -> rs.documents.add(WS, COLL, new AddDocumentsRequest().data(data)),
        a -> a.getData().get(9).getStatus(), DocumentStatus.StatusEnum.ADDED);
    List<Object> wrong = new ArrayList<>();
    wrong.add(new LinkedHashMap<>(Map.of("_id", 5)));
    step("addDocuments", () -> rs.documents.add(WS, COLL, new AddDocumentsRequest().data(wrong)),
        a -> a.getData().get(0).getError().getType(), ErrorModel.TypeEnum.INVALIDINPUT);
    PatchOperation replace = new PatchOperation().op(PatchOperation.OpEnum.REPLACE).path("/kind").value("changed");
    PatchDocument patch = new PatchDocument().id("1").addPatchItem(replace);
    step("patchDocuments", () -> rs.documents.patch(WS, COLL, new PatchDocumentsRequest().addDataItem(patch)),
        a -> a.getData().get(0).getStatus(), DocumentStatus.StatusEnum.PATCHED);
    DeleteDocumentsRequestData last = new DeleteDocumentsRequestData().id("9");
    step("deleteDocuments", () -> rs.documents.delete(WS, COLL, new DeleteDocumentsRequest().addDataItem(last)),
        a -> a.getData().get(0).getStatus(), DocumentStatus.StatusEnum.DELETED);
  }

  private static void queries(RocksetClient rs, String query, QueryParameter least) {
    QueryRequestSql sql = new QueryRequestSql().query(query).addParametersItem(least);
    step("runQuery", () -> rs.queries.query(new QueryRequest().sql(sql)), a -> a.getResults().size(), 3);
    QueryRequestSql limited = new QueryRequestSql().query(query).addParametersItem(least).defaultRowLimit(2);
    step("runQuery", () -> rs.queries.query(new QueryRequest().sql(limited)),
        a -> a.getResults().size() + " " + (a.getQueryErrors() == null || a.getQueryErrors().isEmpty()), "2 true");
    step("validateQuery", () -> rs.queries.validate(new QueryRequest().sql(sql)), a -> a.getParameters(), List.of("least"));
  }

  private static void aliases(RocksetClient rs) {
    String target = WS + "." + COLL;
    step("createAlias", () -> rs.aliases.create(WS, new CreateAliasRequest().name("current").addCollectionsItem(target)),
        a -> a.getData().getName(), "current");
    step("getAlias", () -> rs.aliases.get(WS, "current"), a -> a.getData().getCollections(), List.of(target));
    step("listAliases", () -> rs.aliases.list(), a -> a.getData().stream().anyMatch(i -> "current".equals(i.getName())), true);
    step("listWorkspaceAliases", () -> rs.aliases.workspace(WS), a -> a.getData().size(), 1);
    step("updateAlias", () -> rs.aliases.update(WS, "current", new UpdateAliasRequest().description("e").addCollectionsItem(target)),
        a -> a.getData().getDescription(), "e");
    step("deleteAlias", () -> rs.aliases.delete(WS, "current"), a -> a.getData().getName(), "current");
  }

  private static void lambdas(RocksetClient rs, String query, QueryParameter least) {
    QueryLambdaSql sql = new QueryLambdaSql().query(query).addDefaultParametersItem(least);
    CreateQueryLambdaRequest first = new CreateQueryLambdaRequest().name("kinds").sql(sql).isPublic(false);
    QueryLambdaVersionResponse made = step("createLambda", () -> rs.queryLambdas.create(WS, first),
        a -> String.valueOf(a.getData().getState()), "ACTIVE");
    if (made == null) return;
    String version = made.getData().getVersion();
    step("createLambdaVersion",
        () -> rs.queryLambdas.update(WS, "kinds", new UpdateQueryLambdaRequest().sql(sql).description("e"), null),
        a -> a.getData().getDescription(), "e");
    step("tagLambdaVersion",
        () -> rs.queryLambdas.create_0(WS, "kinds", new CreateQueryLambdaTagRequest().tagName("prod").version(version)),
        a -> a.getData().getTagName(), "prod");
    step("getLambdaTag", () -> rs.queryLambdas.get(WS, "kinds", "prod"), a -> a.getData().getVersion().getVersion(), version);
    step("listLambdaTags", () -> rs.queryLambdas.list_1(WS, "kinds"), a -> a.getData().size(), 2);
    step("getLambdaVersion", () -> rs.queryLambdas.get_0(WS, "kinds", version), a -> a.getData().getSql().getQuery(), query);
    step("listLambdaVersions", () -> rs.queryLambdas.list_2(WS, "kinds"), a -> a.getData().size(), 2);
    step("listLambdas", () -> rs.queryLambdas.list(), a -> a.getData().stream().anyMatch(i -> "kinds".equals(i.getName())), true);
    step("listWorkspaceLambdas", () -> rs.queryLambdas.list_0(WS), a -> a.getData().size(), 1);
    ExecuteQueryLambdaRequest given = new ExecuteQueryLambdaRequest().addParametersItem(least);
    step("executeLambdaVersion", () -> rs.queryLambdas.execute_0(WS, "kinds", version, given), a -> a.getResults().size(), 3);
    step("executeLambdaTag", () -> rs.queryLambdas.execute(WS, "kinds", "latest", null), a -> a.getResults().size(), 3);
    step("deleteLambdaTag", () -> rs.queryLambdas.delete_0(WS, "kinds", "prod"), a -> a.getData().getTagName(), "prod");
    step("deleteLambdaVersion", () -> rs.queryLambdas.delete_1(WS, "kinds", version), a -> a.getData().getVersion(), version);
    step("deleteLambda", () -> rs.queryLambdas.delete(WS, "kinds"), a -> a.getData().getName(), "kinds");
  }

  private static void users(RocksetClient rs, String url) {
    String email = "java@example.com";
    step("createUser", () -> rs.users.create(new CreateUserRequest().email(email).addRolesItem("member")),
        a -> a.getData().getEmail(), email);
    step("listUsers", () -> rs.users.list(), a -> a.getData().stream().anyMatch(u -> email.equals(u.getEmail())), true);
    step("getCurrentUser", () -> rs.users.get(), a -> a.getRoles(), List.of("admin"));
    CreateApiKeyResponse key = step("createApiKey", () -> rs.apiKeys.create(new CreateApiKeyRequest().name("java")),
        a -> a.getData().getKey().length(), 64);
    if (key != null) {
      RocksetClient other = new RocksetClient(key.getData().getKey(), url);
      step("getCurrentUser", () -> other.users.get(), a -> a.getRoles(), List.of("admin"));
    }
    step("listApiKeys", () -> rs.apiKeys.list("self"), a -> a.getData().stream().anyMatch(k -> "java".equals(k.getName())), true);
    step("listUserApiKeys", () -> rs.apiKeys.list(email), a -> a.getData().size(), 0);
    step("deleteApiKey", () -> rs.apiKeys.delete("java", "self"), a -> a.getData().getName(), "java");
    step("deleteUser", () -> rs.users.delete(email), a -> a.getData().getEmail(), email);
  }

  private static void integrations(RocksetClient rs) {
    S3Integration s3 = new S3Integration().awsRole(new AwsRole().awsRoleArn("arn:aws:iam::1:role/r"));
    step("createIntegration", () -> rs.integrations.create(new CreateIntegrationRequest().name("java-s3").description("d").s3(s3)),
        a -> a.getData().getName(), "java-s3");
    step("getIntegration", () -> rs.integrations.get("java-s3"), a -> a.getData().getDescription(), "d");
    step("listIntegrations", () -> rs.integrations.list(), a -> a.getData().stream().anyMatch(i -> "java-s3".equals(i.getName())), true);
    step("deleteIntegration", () -> rs.integrations.delete("java-s3"), a -> a.getData().getName(), "java-s3");
  }

  private static void virtualInstances(RocksetClient rs) {
    ListVirtualInstancesResponse listed = step("listVirtualInstances", () -> rs.virtualInstances.list(), a -> a.getData().size(), 1);
    if (listed == null) return;
    VirtualInstance main = listed.getData().get(0);
    step("getVirtualInstance", () -> rs.virtualInstances.get(main.getId()), a -> String.valueOf(a.getData().getState()), "ACTIVE");
    UpdateVirtualInstanceRequest resize = new UpdateVirtualInstanceRequest()
        .newSize(UpdateVirtualInstanceRequest.NewSizeEnum.fromValue(main.getCurrentSize().getValue()));
    step("updateVirtualInstance", () -> rs.virtualInstances.set(main.getId(), resize),
        a -> a.getData().getCurrentSize(), main.getCurrentSize());
  }
}
