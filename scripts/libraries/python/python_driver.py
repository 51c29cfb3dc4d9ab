"""The Python SDK: its high-level client."""

from contextlib import asynccontextmanager

import httpx2
from driver import IS_STDIO, PLAN, Session, drive, seen, text_of
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult


class Sdk(Session):
    def __init__(self, client):
        self.client = client
        self.tools = []

    async def names(self):
        cursor = None
        while True:
            listed = await self.client.list_tools(cursor=cursor)
            self.tools += listed.tools
            cursor = listed.next_cursor
            if cursor is None:
                return [tool.name for tool in self.tools]

    async def forms(self):
        return {tool.name: tool.input_schema for tool in self.tools}

    async def call(self, tool, arguments):
        result = await self.client.call_tool(tool, arguments)
        return seen(text_of(result.content), result.structured_content, result.is_error)

    async def read(self, uri):
        return text_of((await self.client.read_resource(uri)).contents)

    async def prompt(self, name, arguments):
        return text_of([message.content for message in (await self.client.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(human):
    async def elicit(_context, params):
        answer = human(params.message)
        return ElicitResult(action="decline") if answer is None else ElicitResult(action="accept", content=answer)

    callback = elicit if human else None
    if IS_STDIO:
        server = StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"])
        async with Client(server, elicitation_callback=callback) as client:
            yield Sdk(client)
        return
    async with httpx2.AsyncClient(headers=PLAN["headers"], timeout=60) as http:
        server = streamable_http_client(PLAN["url"], http_client=http)
        async with Client(server, elicitation_callback=callback) as client:
            yield Sdk(client)


drive("mcp", open_session)
