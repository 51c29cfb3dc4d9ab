"""Drives the Python client `rockset` over its endpoints; prints a line per call: its operation, and what is wrong."""

import json
import sys

import rockset
from rockset.models import (
    AwsRole,
    DeleteDocumentsRequestData,
    EventTimeInfo,
    FieldMappingQuery,
    FieldPartition,
    PatchDocument,
    PatchOperation,
    QueryLambdaSql,
    QueryParameter,
    QueryRequestSql,
    S3Integration,
)

URL, KEY = sys.argv[1:]
WS, COLL = "py", "orders"


def client(key):
    rs = rockset.RocksetClient(api_key=key)
    # The constructor accepts hosts of the hosted service only.
    rs.api_client.configuration.host = URL
    return rs


def step(operation, call, check=lambda answer: None):
    """`check` returns what is wrong with an answer."""
    try:
        answer = call()
        wrong = check(answer)
    except Exception as error:  # whatever a client throws is the finding
        answer, wrong = None, f"{type(error).__name__}: {error}"
    print(json.dumps({"call": operation, "wrong": wrong and " ".join(str(wrong).split())[:300]}), flush=True)
    return answer


def same(expected):
    return lambda found: None if found == expected else f"{found} instead of {expected}"


def at(read, expected):
    return lambda answer: same(expected)(read(answer))


rs = client(KEY)
step("getOrganization", rs.Organizations.get, lambda a: None if a.data.id else "no id")

step("createWorkspace", lambda: rs.Workspaces.create(name=WS, description="d"), at(lambda a: a.data.name, WS))
step("getWorkspace", lambda: rs.Workspaces.get(workspace=WS), at(lambda a: a.data.collection_count, 0))
step("listWorkspaces", rs.Workspaces.list, at(lambda a: WS in [w.name for w in a.data], True))

step(
    "createCollection",
    lambda: rs.Collections.create_s3_collection(
        workspace=WS,
        name=COLL,
        description="orders",
        retention_secs=86_400 * 365,
        clustering_key=[FieldPartition(field_name="n", type="AUTO")],
        event_time_info=EventTimeInfo(field="at"),
        storage_compression_type="LZ4",
    ),
    at(lambda a: (a.data.name, a.data.status), (COLL, "CREATED")),
)
step("getCollection", lambda: rs.Collections.get(workspace=WS, collection=COLL), at(lambda a: a.data.status, "READY"))
step("listCollections", rs.Collections.list, at(lambda a: COLL in [c.name for c in a.data], True))
step(
    "listWorkspaceCollections",
    lambda: rs.Collections.workspace_collections(workspace=WS),
    at(lambda a: [c.stats.doc_count for c in a.data], [0]),
)

DOCUMENTS = [{"_id": str(n), "n": n, "kind": "odd" if n % 2 else "even"} for n in range(10)]
step(
    "addDocuments",
    lambda: rs.Documents.add_documents(workspace=WS, collection=COLL, data=DOCUMENTS),
    at(lambda a: {d.status for d in a.data}, {"ADDED"}),
)
step(
    "addDocuments",
    lambda: rs.Documents.add_documents(workspace=WS, collection=COLL, data=[{"_id": 5}]),
    at(lambda a: [(d.status, d.error.type) for d in a.data], [("ERROR", "INVALIDINPUT")]),
)
QUERY = "SELECT _id, upper(kind) AS kind, n * 2 AS n FROM _input WHERE n > 6"
step(
    "createCollection",
    lambda: rs.Collections.create_s3_collection(
        workspace=WS, name="made", field_mapping_query=FieldMappingQuery(sql=QUERY)
    ),
    at(lambda a: a.data.field_mapping_query.sql, QUERY),
)
step(
    "addDocuments",
    lambda: rs.Documents.add_documents(workspace=WS, collection="made", data=DOCUMENTS[5:8] + [{"n": "x"}]),
    # Left out by the query: the client throws for a status that it does not know.
    at(lambda a: [d.status for d in a.data], ["DELETED", "DELETED", "ADDED", "ERROR"]),
)
step(
    "getCollection",
    lambda: rs.Collections.get(workspace=WS, collection="made"),
    at(lambda a: (a.data.field_mapping_query.sql, a.data.stats.doc_count), (QUERY, 1)),
)
step(
    "runQuery",
    lambda: rs.sql(f"SELECT _id, kind, n FROM {WS}.made"),
    at(lambda a: a.results, [{"_id": "7", "kind": "ODD", "n": 14}]),
)
step(
    "deleteCollection",
    lambda: rs.Collections.delete(workspace=WS, collection="made"),
    at(lambda a: a.data.status, "DELETED"),
)
step(
    "patchDocuments",
    lambda: rs.Documents.patch_documents(
        workspace=WS,
        collection=COLL,
        # The client takes objects only for `value`.
        data=[PatchDocument(id="1", patch=[PatchOperation(op="ADD", path="/more", value={"a": 1})])],
    ),
    at(lambda a: [d.status for d in a.data], ["PATCHED"]),
)
step(
    "deleteDocuments",
    lambda: rs.Documents.delete_documents(workspace=WS, collection=COLL, data=[DeleteDocumentsRequestData(id="9")]),
    at(lambda a: [d.status for d in a.data], ["DELETED"]),
)

SQL = f"SELECT kind, count(*) AS n FROM {WS}.{COLL} WHERE n >= :least GROUP BY kind ORDER BY kind"
ROWS = [{"kind": "even", "n": 5}, {"kind": "odd", "n": 4}]
least = [QueryParameter(name="least", type="int", value="0")]
step("runQuery", lambda: rs.sql(SQL, params={"least": 0}), at(lambda a: a.results, ROWS))
step(
    "runQuery",
    lambda: rs.Queries.query(sql=QueryRequestSql(query=SQL, parameters=least, default_row_limit=1)),
    at(lambda a: (a.results, a.query_errors or []), (ROWS[:1], [])),
)
step(
    "validateQuery",
    lambda: rs.Queries.validate(sql=QueryRequestSql(query=SQL, parameters=least)),
    at(lambda a: a.parameters, ["least"]),
)

step(
    "createAlias",
    lambda: rs.Aliases.create(workspace=WS, name="current", description="d", collections=[f"{WS}.{COLL}"]),
    at(lambda a: a.data.name, "current"),
)
step("getAlias", lambda: rs.Aliases.get(workspace=WS, alias="current"), at(lambda a: a.data.collections, [f"{WS}.{COLL}"]))
step("listAliases", rs.Aliases.list, at(lambda a: "current" in [alias.name for alias in a.data], True))
step("listWorkspaceAliases", lambda: rs.Aliases.workspace_aliases(workspace=WS), at(lambda a: len(a.data), 1))
step(
    "updateAlias",
    lambda: rs.Aliases.update(workspace=WS, alias="current", description="e", collections=[f"{WS}.{COLL}"]),
    at(lambda a: a.data.description, "e"),
)
step("deleteAlias", lambda: rs.Aliases.delete(workspace=WS, alias="current"), at(lambda a: a.data.name, "current"))

made = step(
    "createLambda",
    lambda: rs.QueryLambdas.create_query_lambda(
        workspace=WS, name="kinds", description="d", is_public=False, sql=QueryLambdaSql(query=SQL, default_parameters=least)
    ),
    at(lambda a: a.data.state, "ACTIVE"),
)
version = made and made.data.version
second = step(
    "createLambdaVersion",
    lambda: rs.QueryLambdas.update_query_lambda(
        workspace=WS, query_lambda="kinds", description="e", sql=QueryLambdaSql(query=SQL, default_parameters=least)
    ),
    at(lambda a: a.data.description, "e"),
)
step(
    "tagLambdaVersion",
    lambda: rs.QueryLambdas.create_query_lambda_tag(workspace=WS, query_lambda="kinds", tag_name="prod", version=version),
    at(lambda a: a.data.tag_name, "prod"),
)
step(
    "getLambdaTag",
    lambda: rs.QueryLambdas.get_query_lambda_tag_version(workspace=WS, query_lambda="kinds", tag="prod"),
    at(lambda a: a.data.version.version, version),
)
step(
    "listLambdaTags",
    lambda: rs.QueryLambdas.list_query_lambda_tags(workspace=WS, query_lambda="kinds"),
    at(lambda a: [t.tag_name for t in a.data], ["latest", "prod"]),
)
step(
    "getLambdaVersion",
    lambda: rs.QueryLambdas.get_query_lambda_version(workspace=WS, query_lambda="kinds", version=version),
    at(lambda a: a.data.sql.query, SQL),
)
step(
    "listLambdaVersions",
    lambda: rs.QueryLambdas.list_query_lambda_versions(workspace=WS, query_lambda="kinds"),
    at(lambda a: len(a.data), 2),
)
step("listLambdas", rs.QueryLambdas.list_all_query_lambdas, at(lambda a: "kinds" in [q.name for q in a.data], True))
step(
    "listWorkspaceLambdas",
    lambda: rs.QueryLambdas.list_query_lambdas_in_workspace(workspace=WS),
    at(lambda a: [q.version_count for q in a.data], [2]),
)
step(
    "executeLambdaVersion",
    lambda: rs.QueryLambdas.execute_query_lambda(workspace=WS, query_lambda="kinds", version=version, parameters=least),
    at(lambda a: a.results, ROWS),
)
step(
    "executeLambdaTag",
    lambda: rs.QueryLambdas.execute_query_lambda_by_tag(workspace=WS, query_lambda="kinds", tag="latest"),
    at(lambda a: a.results, ROWS),
)
# Posted as JSON, one of null and one without a value: see CONTENTS.
DEFAULTS = {"n": "10", "l": "[1]", "o": '{"k":1}', "b": "true", "x": "null"}
rich = {"workspace": "rich", "query_lambda": "defaults"}
step(
    "getLambdaTag",
    lambda: rs.QueryLambdas.get_query_lambda_tag_version(tag="latest", **rich),
    at(lambda a: {p.name: p.value for p in a.data.version.sql.default_parameters}, DEFAULTS),
)
step("listLambdaTags", lambda: rs.QueryLambdas.list_query_lambda_tags(**rich), at(lambda a: len(a.data), 1))
step("listLambdaVersions", lambda: rs.QueryLambdas.list_query_lambda_versions(**rich), at(lambda a: len(a.data), 1))
step(
    "executeLambdaTag",
    lambda: rs.QueryLambdas.execute_query_lambda_by_tag(
        tag="latest", parameters=[QueryParameter(name="d", type="date", value="2026-01-31")], **rich
    ),
    at(lambda a: a.results, [{"n": 10, "l": [1], "o": {"k": 1}, "b": True, "x": None, "d": "2026-01-31"}]),
)
step(
    "deleteLambdaTag",
    lambda: rs.QueryLambdas.delete_query_lambda_tag(workspace=WS, query_lambda="kinds", tag="prod"),
    at(lambda a: a.data.tag_name, "prod"),
)
step(
    "deleteLambdaVersion",
    lambda: rs.QueryLambdas.delete_query_lambda_version(workspace=WS, query_lambda="kinds", version=version),
    at(lambda a: a.data.version, version),
)
step(
    "deleteLambda",
    lambda: rs.QueryLambdas.delete_query_lambda(workspace=WS, query_lambda="kinds"),
    at(lambda a: a.data.name, "kinds"),
)

step("createUser", lambda: rs.Users.create(email="py@example.com", roles=["member"]), at(lambda a: a.data.roles, ["member"]))
step("listUsers", rs.Users.list, at(lambda a: "py@example.com" in [u.email for u in a.data], True))
step("getCurrentUser", rs.Users.get_current_user, at(lambda a: a.roles, ["admin"]))
key = step("createApiKey", lambda: rs.APIKeys.create(name="py"), at(lambda a: len(a.data.key), 64))
if key:
    step("getCurrentUser", client(key.data.key).Users.get_current_user, at(lambda a: a.roles, ["admin"]))
step("listApiKeys", lambda: rs.APIKeys.list(user="self"), at(lambda a: "py" in [k.name for k in a.data], True))
step("listUserApiKeys", lambda: rs.APIKeys.list(user="py@example.com"), at(lambda a: a.data, []))
step("deleteApiKey", lambda: rs.APIKeys.delete(user="self", name="py"), at(lambda a: a.data.name, "py"))
step("deleteUser", lambda: rs.Users.delete(user="py@example.com"), at(lambda a: a.data.email, "py@example.com"))

step(
    "createIntegration",
    lambda: rs.Integrations.create_s3_integration(
        name="py-s3", description="d", s3=S3Integration(aws_role=AwsRole(aws_role_arn="arn:aws:iam::1:role/r"))
    ),
    at(lambda a: a.data.name, "py-s3"),
)
step("getIntegration", lambda: rs.Integrations.get(integration="py-s3"), at(lambda a: a.data.description, "d"))
step("listIntegrations", rs.Integrations.list, at(lambda a: "py-s3" in [i.name for i in a.data], True))
step("deleteIntegration", lambda: rs.Integrations.delete(integration="py-s3"), at(lambda a: a.data.name, "py-s3"))

instances = step("listVirtualInstances", rs.VirtualInstances.list, at(lambda a: [v.name for v in a.data], ["main"]))
if instances:
    instance = instances.data[0]
    step(
        "getVirtualInstance",
        lambda: rs.VirtualInstances.get(virtual_instance_id=instance.id),
        at(lambda a: a.data.state, "ACTIVE"),
    )
    step(
        "updateVirtualInstance",
        lambda: rs.VirtualInstances.update(virtual_instance_id=instance.id, new_size=str(instance.current_size)),
        at(lambda a: a.data.current_size, instance.current_size),
    )


def mistake():
    try:
        rs.sql("SELECT nothing FROM nowhere")
    except rockset.exceptions.BadRequestException as error:
        return json.loads(error.body)["type"]
    return "no error"


step("an error", mistake, same("QUERY_ERROR"))
step("deleteCollection", lambda: rs.Collections.delete(workspace=WS, collection=COLL), at(lambda a: a.data.name, COLL))
step("deleteWorkspace", lambda: rs.Workspaces.delete(workspace=WS), at(lambda a: a.data.name, WS))
