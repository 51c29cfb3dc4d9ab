"""Google's Agent Development Kit: a toolset, and the declarations that Gemini is handed."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, seen, text_of
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.mcp_instruction_provider import McpInstructionProvider
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters
from mcp.types import ElicitResult

if IS_STDIO:
    SERVER = StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"])
    CONNECTION = StdioConnectionParams(server_params=SERVER, timeout=60)
else:
    CONNECTION = StreamableHTTPConnectionParams(url=PLAN["url"], headers=PLAN["headers"], timeout=60)


class Adk(Session):
    def __init__(self, toolset, tools, invocation):
        self.toolset = toolset
        self.tools = {tool.name: tool for tool in tools}
        self.invocation = invocation

    async def names(self):
        return list(self.tools)

    async def forms(self):
        # Gemini's form of a schema, which is not quite JSON Schema, or that itself, as the library is set.
        declared = [tool._get_declaration() for tool in self.tools.values()]
        return {
            one.name: one.parameters_json_schema or one.parameters.model_dump(mode="json", exclude_none=True)
            for one in declared
        }

    async def call(self, tool, arguments):
        context = ToolContext(self.invocation, function_call_id="1")
        result = await self.tools[tool].run_async(args=arguments, tool_context=context)
        return seen(text_of(result.get("content", [result])), result.get("structuredContent"), result.get("isError", False))

    async def read(self, uri):
        listed = [await self.toolset.get_resource_info(name) for name in await self.toolset.list_resources()]
        name = next(info["name"] for info in listed if str(info["uri"]) == uri)
        return text_of(await self.toolset.read_resource(name))

    async def prompt(self, name, arguments):
        self.invocation.session.state.update(arguments)
        return await McpInstructionProvider(CONNECTION, name)(ReadonlyContext(self.invocation))


@asynccontextmanager
async def open_session(human):
    async def elicit(_context, params):
        answer = human(params.message)
        return ElicitResult(action="decline") if answer is None else ElicitResult(action="accept", content=answer)

    toolset = McpToolset(connection_params=CONNECTION, elicitation_callback=elicit if human else None)
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="driver", user_id="driver")
    agent = LlmAgent(name="driver", model="none", tools=[toolset])
    invocation = InvocationContext(session_service=sessions, invocation_id="1", agent=agent, session=session)
    try:
        yield Adk(toolset, await toolset.get_tools(), invocation)
    finally:
        await toolset.close()


drive("google-adk", open_session)
