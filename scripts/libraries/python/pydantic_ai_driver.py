"""Pydantic AI: a toolset, as its agents use it."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, jsonable, seen
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai import ModelRetry, RunContext, RunUsage, ToolReturn
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel

CONTEXT = RunContext(deps=None, model=TestModel(), usage=RunUsage())


class PydanticAi(Session):
    def __init__(self, toolset):
        self.toolset = toolset

    async def names(self):
        return [tool.name for tool in await self.toolset.list_tools()]

    async def forms(self):
        tools = await self.toolset.get_tools(CONTEXT)
        return {name: tool.tool_def.parameters_json_schema for name, tool in tools.items()}

    async def call(self, tool, arguments):
        tools = await self.toolset.get_tools(CONTEXT)
        try:
            result = await self.toolset.call_tool(tool, arguments, CONTEXT, tools[tool])
        except ModelRetry as error:
            return seen(error.message, None, True)
        # Of tools with a view, what a model is told is a part of the result.
        result = result.return_value if isinstance(result, ToolReturn) else result
        return seen(result) if isinstance(result, str) else seen(None, jsonable(result))

    async def read(self, uri):
        return await self.toolset.read_resource(uri)

    async def prompt(self, name, arguments):
        result = await self.toolset.get_prompt(name, arguments)
        return "\n".join(str(message.content) for message in result.messages)


@asynccontextmanager
async def open_session(human):
    async def elicit(message, _type, _params, _context):
        answer = human(message)
        return ElicitResult(action="decline") if answer is None else answer

    options = {"elicitation_handler": elicit if human else None}
    if IS_STDIO:
        toolset = MCPToolset(StdioTransport(PLAN["command"], PLAN["args"], env=PLAN["env"], keep_alive=False), **options)
    else:
        toolset = MCPToolset(PLAN["url"], headers=PLAN["headers"], **options)
    async with toolset:
        yield PydanticAi(toolset)


drive("pydantic-ai-slim", open_session)
