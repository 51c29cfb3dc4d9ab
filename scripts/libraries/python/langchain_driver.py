"""LangChain's adapters, as their client makes tools: each call has a connection, and so over stdio a process, of its own."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, seen, text_of
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult

if IS_STDIO:
    CONNECTION = {"transport": "stdio", **{key: PLAN[key] for key in ("command", "args", "env")}}
else:
    CONNECTION = {"transport": "streamable_http", "url": PLAN["url"], "headers": PLAN["headers"]}


class LangChain(Session):
    def __init__(self, client, tools):
        self.client = client
        self.tools = {tool.name: tool for tool in tools}

    async def names(self):
        return list(self.tools)

    async def forms(self):
        converted = [convert_to_openai_tool(tool)["function"] for tool in self.tools.values()]
        return {function["name"]: function["parameters"] for function in converted}

    async def call(self, tool, arguments):
        message = await self.tools[tool].ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        structured = None if message.artifact is None else message.artifact["structured_content"]
        return seen(text_of(message.content), structured, message.status == "error")

    async def read(self, uri):
        blobs = await self.client.get_resources("colloquy", uris=uri)
        return "\n".join(blob.as_string() for blob in blobs)

    async def prompt(self, name, arguments):
        messages = await self.client.get_prompt("colloquy", name, arguments=arguments)
        return "\n".join(str(message.content) for message in messages)


@asynccontextmanager
async def open_session(human):
    async def elicit(_context, params, _callback_context):
        answer = human(params.message)
        return ElicitResult(action="decline") if answer is None else ElicitResult(action="accept", content=answer)

    callbacks = Callbacks(on_elicitation=elicit) if human else None
    client = MultiServerMCPClient({"colloquy": CONNECTION}, callbacks=callbacks)
    yield LangChain(client, await client.get_tools())


drive("langchain-mcp-adapters", open_session)
