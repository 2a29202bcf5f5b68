"""A client that is not ours: the Python SDK's. Calls tools and reads resources, and prints what came back.

    mcp-client.py legacy|auto stdio COMMAND [ARGS...]     < calls.json
    mcp-client.py legacy|auto http URL                    < calls.json     the token is in AZOLLA_MCP_TOKEN

`legacy` begins with the initialize handshake, `auto` with the newest protocol that both sides speak. The calls are a JSON
list of ["tool", {arguments}] or ["read", "uri"]; the answer is one JSON document. The SDK checks every structured answer
against the schema that the tool announced, and fails if one does not fit.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation


def transport(arguments):
    if arguments[0] == "stdio":
        return StdioServerParameters(command=arguments[1], args=arguments[2:])
    token = os.environ["AZOLLA_MCP_TOKEN"]
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
    return streamable_http_client(arguments[1], http_client=client)


async def answered(client, name, argument):
    if name == "read":
        try:
            result = await client.read_resource(argument)
        except MCPError as error:
            return {"error": error.error.message}
        return {"text": "".join(content.text for content in result.contents)}
    result = await client.call_tool(name, argument)
    text = "".join(block.text for block in result.content)
    return {"error": text} if result.is_error else {"structured": result.structured_content, "text": text}


async def main(mode, arguments):
    calls = json.load(sys.stdin)
    info = Implementation(name="python sdk", version="1")
    async with Client(transport(arguments), mode=mode, client_info=info, read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        said = {
            "server": client.server_info.name,
            "protocol": client.protocol_version,
            "instructions": client.instructions,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            "resources": [str(one.uri) for one in (await client.list_resources()).resources],
            "templates": [one.uri_template for one in (await client.list_resource_templates()).resource_templates],
            "answers": [await answered(client, name, argument) for name, argument in calls],
        }
    print(json.dumps(said))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
