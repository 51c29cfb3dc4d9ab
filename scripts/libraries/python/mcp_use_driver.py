"""mcp-use: the tools that its adapter makes for LangChain's agents, and its session for all else."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, seen, text_of
from mcp.types import ElicitResult
from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

if IS_STDIO:
    SERVER = {key: PLAN[key] for key in ("command", "args", "env")}
else:
    SERVER = {"url": PLAN["url"], "headers": PLAN["headers"]}


class McpUse(Session):
    def __init__(self, session, tools):
        self.session = session
        self.tools = {tool.name: tool for tool in tools}

    async def names(self):
        return [tool.name for tool in await self.session.list_tools()]

    async def forms(self):
        return {name: tool.args_schema.model_json_schema() for name, tool in self.tools.items()}

    async def call(self, tool, arguments):
        return seen(str(await self.tools[tool].ainvoke(arguments)))

    async def structured(self, tool, arguments):
        return (await self.session.call_tool(tool, arguments)).structuredContent

    async def read(self, uri):
        return text_of((await self.session.read_resource(uri)).contents)

    async def prompt(self, name, arguments):
        return text_of([message.content for message in (await self.session.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(human):
    async def elicit(_context, params):
        answer = human(params.message)
        return ElicitResult(action="decline") if answer is None else ElicitResult(action="accept", content=answer)

    client = MCPClient({"mcpServers": {"colloquy": SERVER}}, elicitation_callback=elicit if human else None)
    try:
        session = await client.create_session("colloquy")
        yield McpUse(session, await LangChainAdapter().create_tools(client))
    finally:
        await client.close_all_sessions()


drive("mcp-use", open_session)
