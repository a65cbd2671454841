"""A server with the Python SDK, over stdio, or with a port over streamable HTTP."""
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("snake")


class Point(BaseModel):
    x: int
    y: int = 0


@server.tool()
def norm(point: Point) -> int:
    """The sum of the coordinates."""
    return point.x + point.y


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("the disk is full")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Counts."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, "counting")
    return f"counted to {to}"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
