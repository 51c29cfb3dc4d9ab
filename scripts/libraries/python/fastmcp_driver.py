"""FastMCP: a program's client, with typed results."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, jsonable, seen, text_of
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


class FastMcp(Session):
    def __init__(self, client):
        self.client = client

    async def names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def forms(self):
        return {tool.name: tool.input_schema for tool in await self.client.list_tools()}

    async def call(self, tool, arguments):
        result = await self.client.call_tool(tool, arguments, raise_on_error=False)
        return seen(text_of(result.content), jsonable(result.data), result.is_error)

    async def read(self, uri):
        return text_of(await self.client.read_resource(uri))

    async def prompt(self, name, arguments):
        return text_of([message.content for message in (await self.client.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(human):
    async def elicit(message, _type, _params, _context):
        answer = human(message)
        return ElicitResult(action="decline") if answer is None else answer

    if IS_STDIO:
        transport = StdioTransport(PLAN["command"], PLAN["args"], env=PLAN["env"], keep_alive=False)
    else:
        transport = StreamableHttpTransport(PLAN["url"], headers=PLAN["headers"])
    async with Client(transport, elicitation_handler=elicit if human else None) as client:
        yield FastMcp(client)


drive("fastmcp", open_session)
