"""AutoGen: the adapter that it makes of each tool, with its own model of the arguments, as agents call it."""

from contextlib import asynccontextmanager

from autogen_core.tools import StaticWorkbench
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams, mcp_server_tools
from driver import IS_STDIO, PLAN, Session, drive, seen, text_of

if IS_STDIO:
    SERVER = StdioServerParams(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"], read_timeout_seconds=30)
else:
    SERVER = StreamableHttpServerParams(url=PLAN["url"], headers=PLAN["headers"])


class AutoGen(Session):
    def __init__(self, workbench, adapters):
        self.workbench = workbench
        self.adapters = {adapter.name: adapter for adapter in adapters}
        self.tools = StaticWorkbench(adapters)

    async def names(self):
        return [tool["name"] for tool in await self.workbench.list_tools()]

    async def forms(self):
        return {name: adapter.schema["parameters"] for name, adapter in self.adapters.items()}

    async def call(self, tool, arguments):
        result = await self.tools.call_tool(tool, arguments)
        return seen(result.to_text(), None, result.is_error)

    async def read(self, uri):
        return text_of((await self.workbench.read_resource(uri)).contents)

    async def prompt(self, name, arguments):
        return text_of([message.content for message in (await self.workbench.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(_human):
    async with McpWorkbench(SERVER) as workbench:
        yield AutoGen(workbench, await mcp_server_tools(SERVER))


drive("autogen-ext", open_session, no_questions="its sessions take no elicitation callback")
