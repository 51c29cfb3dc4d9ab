"""What the Python drivers share: the plan, the order of the checks, and the lines that the runner reads.

A driver wraps a library's connection in a `Session` and says what it got; `judges.mjs` says whether that is right.
"""

import asyncio
import json
import os
import re
import sys
import traceback
from importlib.metadata import version

PLAN = json.loads(os.environ["LIBRARY_PLAN"])
IS_STDIO = PLAN["transport"] == "stdio"


class Cannot(Exception):
    """The library has no way to do this; the message says what is missing."""


class Session:
    """A connection. What a driver does not override, its library cannot do."""

    async def names(self):
        """Names of the listed tools."""
        raise Cannot("lists no tools")

    async def forms(self):
        """Of each tool what a model is handed: its arguments as JSON Schema, by the tool's name."""
        raise Cannot("converts no tools")

    async def call(self, tool, arguments):
        """What a model or a program is told: `seen`."""
        raise NotImplementedError

    async def structured(self, tool, arguments):
        """A call's result as a program is given it, where that is more than text."""
        result = (await self.call(tool, arguments))["structured"]
        if result is None:
            raise Cannot("hands on the text alone")
        return result

    async def read(self, uri):
        """The text of a resource."""
        raise Cannot("reads no resources")

    async def prompt(self, name, arguments):
        """The text of a prompt."""
        raise Cannot("gets no prompts")


def seen(text, structured=None, is_error=False):
    """A call's answer. `structured`: as the library gives it to a program, if it does."""
    return {"text": text, "structured": structured, "isError": is_error}


def text_of(content):
    """The text of the parts of an answer, whether objects or dictionaries."""
    parts = [part if isinstance(part, dict) else getattr(part, "__dict__", {}) for part in content]
    return "\n".join(str(part["text"]) for part in parts if part.get("text") is not None)


def jsonable(value):
    """A typed result as JSON: its own fields, whatever class they are of."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "model_dump"):
        return jsonable(value.model_dump(by_alias=True))
    if hasattr(value, "__dict__"):
        return jsonable(vars(value))
    return value


def say(**line):
    print("\n@" + json.dumps(line, default=str), flush=True)


def ask_runner(**line):
    """Asks the runner for something that a person would do, and waits until it is done."""
    say(**line)
    sys.stdin.readline()


async def attempt(check, work):
    try:
        say(check=check, **await asyncio.wait_for(work(), PLAN["callSeconds"]))
    except Cannot as error:
        say(check=check, cannot=str(error))
    except BaseException as error:  # Groups of a cancelled connection are no Exception.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        say(check=check, error="".join(traceback.format_exception(error))[-3000:])


async def checks_of(session):
    calls = PLAN["calls"]

    async def page():
        first = await session.call(**calls["large"])
        query_id = re.search(r'"?query_id"?\W+([0-9a-f-]{36})', first["text"] or json.dumps(first["structured"]))
        tool, arguments = calls["page"]["tool"], calls["page"]["arguments"]
        return await session.call(tool, {**arguments, "query_id": query_id.group(1)})

    async def typed():
        return {name: await session.structured(**calls[name]) for name in ("large", "issued")}

    async def names():
        return {"names": await session.names()}

    async def forms():
        return {"forms": await session.forms()}

    async def resource():
        return {"text": await session.read(PLAN["resource"])}

    async def prompt():
        return {"text": await session.prompt(**PLAN["prompt"])}

    await attempt("list", names)
    await attempt("convert", forms)
    await attempt("query", lambda: session.call(**calls["query"]))
    await attempt("typed", typed)
    await attempt("page", page)
    await attempt("error", lambda: session.call(**calls["error"]))
    await attempt("resource", resource)
    await attempt("prompt", prompt)


async def alone(session):
    """A deletion whose client cannot ask: somebody answers elsewhere, and the same call is made again."""
    call = PLAN["calls"]["unasked"]
    first = await session.call(**call)
    ask_runner(ask="approve", text=first["text"] or json.dumps(first["structured"]))
    return {"first": first, "second": await session.call(**call)}


async def everything(package, open_session, no_questions):
    say(version=version(package))

    async def unasked():
        async with open_session(None) as session:
            await checks_of(session)
            await attempt("unasked", lambda: alone(session))

    await within("unasked", unasked)
    for check, answer in (("declined", None), ("accepted", PLAN["typed"])):

        async def asked():
            if no_questions:
                raise Cannot(no_questions)
            questions = []

            def human(message):
                questions.append(str(message))
                return answer

            async with open_session(human) as session:
                return {**await session.call(**PLAN["calls"][check]), "questions": questions}

        await attempt(check, asked)


async def within(check, work):
    """For the connection itself: what went wrong is the outcome of the last check of it."""
    try:
        await asyncio.wait_for(work(), PLAN["seconds"])
    except Exception as error:
        say(check=check, error="".join(traceback.format_exception(error))[-3000:])


def drive(package, open_session, no_questions=None):
    """Runs all checks. `open_session(human)`: an asynchronous context manager with a `Session`; `human` gets a question's
    message and returns the form's content, or None to decline; without it no questions can be asked. `no_questions`:
    why the library asks its user none.
    """
    asyncio.run(everything(package, open_session, no_questions))
    sys.stdout.flush()
    # Some libraries leave threads behind that would keep this process.
    os._exit(0)
