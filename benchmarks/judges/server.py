"""A server with OpenAI's API whose replies fit whatever schema is asked for; it counts calls and letters.

``python server.py [TEXTS VERDICTS]`` prints its address, and for each line of its standard input what it has counted
since the last one, as JSON. Lists of texts have as many as TEXTS says, and lists of anything else as many as VERDICTS.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FACT = "Fact 1 is true."
TEXTS, VERDICTS = map(int, sys.argv[1:] or ("1", "1"))


def fill(schema: dict[str, Any], whole: dict[str, Any], number: int = 1) -> Any:
    """Return the simplest value of a schema: the first of a choice, and as a number its place in its list."""
    if "$ref" in schema:
        return fill(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole, number)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return fill(choices[0], whole, number)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fill(inner, whole, number) for name, inner in schema.get("properties", {}).items()}
        case "array":
            items = schema.get("items", {"type": "string"})
            length = TEXTS if items.get("type") == "string" else VERDICTS
            return [fill(items, whole, place) for place in range(1, length + 1)]
        case "integer" | "number":
            return number
        case "boolean":
            return True
    return FACT


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.calls = self.letters = 0


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.calls += 1
            self.server.letters += sum(len(str(message["content"])) for message in body["messages"])
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "finish_reason": "stop", "message": reply(body)}
        made = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        content = json.dumps(made).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def reply(body: dict[str, Any]) -> dict[str, Any]:
    if tools := body.get("tools"):
        function = tools[0]["function"]
        arguments = json.dumps(fill(function["parameters"], function["parameters"]))
        call = {"id": "1", "type": "function", "function": {"name": function["name"], "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    form = body.get("response_format", {}).get("json_schema")
    schema = form["schema"] if form else find_schema(body["messages"])
    return {"role": "assistant", "content": json.dumps(fill(schema, schema))}


def find_schema(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema that stands among the words of a message, as libraries write it there."""
    decoder = json.JSONDecoder()
    for message in messages:
        text = str(message["content"])
        place = text.find("{")
        while place >= 0:
            try:
                value, end = decoder.raw_decode(text, place)
            except ValueError:
                end, value = place + 1, None
            if isinstance(value, dict) and "properties" in value:
                return value
            place = text.find("{", end)
    return {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def main() -> None:
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    for _ in sys.stdin:
        print(json.dumps({"calls": server.calls, "letters": server.letters}), flush=True)
        server.calls = server.letters = 0


if __name__ == "__main__":
    main()
