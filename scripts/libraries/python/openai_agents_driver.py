"""The OpenAI Agents SDK: function tools in strict mode wherever it can make them so."""

import json
from contextlib import asynccontextmanager

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from driver import IS_STDIO, PLAN, Session, drive, seen, text_of


EMPTY = {"string": "", "array": [], "boolean": False}


class OpenAiAgents(Session):
    def __init__(self, server, tools):
        self.server = server
        self.tools = {tool.name: tool for tool in tools}

    async def names(self):
        return [tool.name for tool in await self.server.list_tools()]

    async def forms(self):
        return {name: {**tool.params_json_schema, "strict": tool.strict_json_schema} for name, tool in self.tools.items()}

    async def call(self, tool, arguments):
        # A model in strict mode sends all arguments, so those that it has no use for are empty.
        form = self.tools[tool].params_json_schema
        kinds = {key: form["properties"][key]["type"] for key in form["required"]}
        text = json.dumps({**{key: EMPTY[kind] for key, kind in kinds.items() if kind in EMPTY}, **arguments})
        context = ToolContext(context=None, tool_name=tool, tool_call_id="1", tool_arguments=text)
        told = await self.tools[tool].on_invoke_tool(context, text)
        told = told["text"] if isinstance(told, dict) else str(told)
        # A server that was told to use structured content hands the model just that, if the call succeeded.
        structured = json.loads(told) if told.startswith("{") else None
        return seen(told, structured)

    async def read(self, uri):
        return text_of((await self.server.read_resource(uri)).contents)

    async def prompt(self, name, arguments):
        return text_of([message.content for message in (await self.server.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(_human):
    options = {"use_structured_content": True, "client_session_timeout_seconds": 60}
    if IS_STDIO:
        server = MCPServerStdio({key: PLAN[key] for key in ("command", "args", "env")}, **options)
    else:
        server = MCPServerStreamableHttp({"url": PLAN["url"], "headers": PLAN["headers"]}, **options)
    async with server:
        agent = Agent(name="driver")
        tools = await MCPUtil.get_function_tools(server, True, RunContextWrapper(None), agent)
        yield OpenAiAgents(server, tools)


drive("openai-agents", open_session, no_questions="its sessions take no elicitation callback")
