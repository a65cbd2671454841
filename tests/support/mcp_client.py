"""Drives an MCP server with the Python SDK, and writes what comes back as one JSON object.

usage: mcp_client.py stdio <command> [argument ...] | mcp_client.py http <url>
"""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

asked = []


async def answer(context, params):
    asked.append(params.message)
    if params.message.startswith("Allow the call"):
        return types.ElicitResult(action="accept", content={"allow": "keep" not in params.message})
    return types.ElicitResult(action="accept", content={"guests": 4})


async def converse(session):
    info = await session.initialize()
    listed = await session.list_tools()
    tools = {
        tool.name: {
            "description": tool.description,
            "schema": tool.input_schema,
            "annotations": tool.annotations.model_dump(exclude_none=True) if tool.annotations else None,
        }
        for tool in listed.tools
    }
    results = {}
    progress = []

    async def report(value, total, message):
        progress.append([value, total, message])

    async def call(key, name, arguments, **more):
        result = await session.call_tool(name, arguments, **more)
        results[key] = {
            "error": bool(result.is_error),
            "text": [block.text for block in result.content if block.type == "text"],
            "kinds": [block.type for block in result.content],
            "structured": result.structured_content,
        }

    await call("shout", "shout", {"text": "hey"})
    await call("wrong", "shout", {"txet": "hey"})
    await call("fail", "fail", {})
    await call("count", "count", {"to": 3}, progress_callback=report)
    await call("book", "book", {"day": "Friday"})
    await call("delete", "delete", {"what": "old"})
    await call("kept", "delete", {"what": "keep"})
    await call("picture", "picture", {})
    await call("bake", "bake", {})
    try:
        await call("unknown", "unknown", {})
    except Exception as error:
        results["unknown"] = {"raised": str(error)}
    print(json.dumps({
        "server": info.server_info.name,
        "protocol": info.protocol_version,
        "tools": tools,
        "results": results,
        "progress": progress,
        "asked": asked,
    }))


async def main():
    kind, *where = sys.argv[1:]
    if kind == "stdio":
        server = StdioServerParameters(command=where[0], args=where[1:])
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write, elicitation_callback=answer) as session:
                await converse(session)
    else:
        async with streamable_http_client(where[0]) as streams:
            async with ClientSession(streams[0], streams[1], elicitation_callback=answer) as session:
                await converse(session)


asyncio.run(main())
