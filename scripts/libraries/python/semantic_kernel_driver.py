"""Semantic Kernel: a plugin, whose functions a kernel invokes."""

from contextlib import asynccontextmanager

from driver import IS_STDIO, PLAN, Session, drive, seen
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin
from semantic_kernel.functions import KernelArguments

PROMPTS = {"explore_data", "author_lambda", "administer"}


class SemanticKernel(Session):
    def __init__(self, kernel, functions):
        self.kernel = kernel
        self.functions = {name: function for name, function in functions.items() if name not in PROMPTS}
        self.prompts = {name: function for name, function in functions.items() if name in PROMPTS}

    async def names(self):
        return list(self.functions)

    async def forms(self):
        return {
            name: kernel_function_metadata_to_function_call_format(function.metadata)["function"]["parameters"]
            for name, function in self.functions.items()
        }

    async def call(self, tool, arguments):
        result = await self.functions[tool].invoke(self.kernel, KernelArguments(**arguments))
        return seen("\n".join(str(part) for part in result.value))

    async def prompt(self, name, arguments):
        result = await self.prompts[name].invoke(self.kernel, KernelArguments(**arguments))
        return "\n".join(str(message) for message in result.value)


@asynccontextmanager
async def open_session(_human):
    if IS_STDIO:
        plugin = MCPStdioPlugin("colloquy", PLAN["command"], args=PLAN["args"], env=PLAN["env"])
    else:
        plugin = MCPStreamableHttpPlugin("colloquy", PLAN["url"], headers=PLAN["headers"])
    async with plugin:
        kernel = Kernel()
        yield SemanticKernel(kernel, dict(kernel.add_plugin(plugin).functions))


drive("semantic-kernel", open_session, no_questions="its plugins take no elicitation callback")
