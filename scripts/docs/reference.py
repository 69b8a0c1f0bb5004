"""A preprocessor of mdBook: puts the reference into the chapters that have a place for it, from the OpenAPI document of
the program that HOLDSTEAD_BIN names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

# How the document calls every map.
MAP = "BTreeMap"
PLACE = re.compile(r"<!-- written by `just docs`: (\w+) -->")
GROUPS = {
    "interactions": "Asks and answers",
    "sessions": "Sessions",
    "events": "Streams",
    "decisions": "What was decided",
    "rules": "Rules",
    "trusts": "Trusted folders",
    "login": "Devices and logging in",
    "passkeys": "Passkeys",
    "runners": "Runners",
    "mcp": "MCP",
    "short": "Short forms",
    "meta": "About the gateway",
}


class Reference:
    def __init__(self, document: Schema) -> None:
        self.paths: Schema = document["paths"]
        self.schemas: Schema = document["components"]["schemas"]

    # --- routes

    def routes(self) -> str:
        groups: dict[str, list[tuple[str, str, Schema]]] = {tag: [] for tag in GROUPS}
        for path, methods in self.paths.items():
            for method, operation in methods.items():
                groups[operation["tags"][0]].append((method.upper(), path, operation))
        parts = []
        for tag, title in GROUPS.items():
            parts.append(f"## {title}\n")
            for method, path, operation in groups[tag]:
                parts.append(f"- [`{method} {path}`](#{operation['operationId']}): {line(operation['summary'])}")
            parts.append("")
            parts += [self.route(*one) for one in groups[tag]]
        return "\n".join(parts)

    def route(self, method: str, path: str, operation: Schema) -> str:
        parts = [f"### `{method} {path}` {{#{operation['operationId']}}}\n", line(operation["summary"])]
        if more := operation.get("description"):
            parts.append(more)
        roles = operation["security"][-1]["bearer"]
        may = ", ".join(f"`{role}`" for role in roles) or "whoever has the code of a link"
        takes = [f"- **Who may**: {may}"]
        if "requestBody" in operation:
            takes.append(f"- **Takes**: {self.content(operation['requestBody']['content'])}")
        for status, answer in operation["responses"].items():
            what = self.content(answer["content"]) if "content" in answer else answer.get("description", "nothing")
            if status != "default":
                takes.append(f"- **{status}**: {what}")
        parts.append("\n".join(takes))
        if parameters := operation.get("parameters"):
            rows = [
                (f"`{one['name']}` in the {one['in']}", self.type(one["schema"]), one.get("description", ""))
                for one in parameters
            ]
            parts.append(table("parameter", rows))
        return "\n\n".join(parts) + "\n"

    def content(self, content: Schema) -> str:
        return " or ".join(
            self.type(one.get("schema", {})) + (f" as `{kind}`" if kind != "application/json" else "")
            for kind, one in content.items()
        )

    # --- events and errors

    def events(self) -> str:
        parts = []
        for variant in self.schemas["EventBody"]["oneOf"]:
            (name,) = variant["properties"]["type"]["enum"]
            data = variant["properties"]["data"]["$ref"].rsplit("/", 1)[1]
            parts.append(f"### {name} {{#{name}}}\n\n{variant['description']}\n\n{self.body(self.schemas[data])}")
        return "\n\n".join(parts)

    def errors(self) -> str:
        parts = []
        for one in self.schemas["Code"]["x-codes"]:
            parts.append(f"### {one['code']} {{#{one['code']}}}\n\n{one['happened']} (HTTP {one['status']})")
            parts.append(f"**What to do**: {one['toDo']}")
        return "\n\n".join(parts)

    # --- types

    def types(self) -> str:
        parts = []
        for name in sorted(self.schemas.keys() - {MAP}, key=str.lower):
            schema = self.schemas[name]
            parts.append(f"## {name} {{#{name.lower()}}}")
            if words := schema.get("description"):
                parts.append(words)
            parts.append(self.body(schema))
        return "\n\n".join(part for part in parts if part)

    def body(self, schema: Schema) -> str:
        """All that is to say of a type besides its own words."""
        if "$ref" in schema:
            return f"As {self.type(schema)}."
        parts = []
        for part in schema.get("allOf", []):
            parts.append(f"All of {self.type(part)}, and:" if "$ref" in part else self.body(part))
        if "oneOf" in schema:
            parts += [self.variant(one) for one in schema["oneOf"]]
        if "enum" in schema:
            parts.append("One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".")
        if properties := schema.get("properties"):
            needed = schema.get("required", [])
            rows = [
                (f"`{name}`" + ("" if name in needed else ", optional"), self.type(one), self.words(one))
                for name, one in sorted(properties.items(), key=lambda each: (each[0] not in needed, each[0]))
            ]
            parts.append(table("field", rows))
        if not parts:
            parts.append(f"On the wire: {self.type(schema)}.")
        return "\n\n".join(parts)

    def words(self, schema: Schema) -> str:
        """A field's own words, which stand beside a reference also where it is optional; else those of its type."""
        ways = (schema, *schema.get("oneOf", []))
        named = (self.schemas[one["$ref"].rsplit("/", 1)[1]] for one in ways if "$ref" in one)
        return next((str(one["description"]) for one in (*ways, *named) if "description" in one), "")

    def variant(self, schema: Schema) -> str:
        if "$ref" in schema or "properties" not in schema:
            return f"- {self.type(schema)}" + (f": {schema['description']}" if "description" in schema else "")
        said = {name: one["enum"][0] for name, one in schema["properties"].items() if len(one.get("enum", [])) == 1}
        rest = {name: one for name, one in schema["properties"].items() if name not in said}
        title = ", ".join(f'`"{name}": "{value}"`' for name, value in said.items()) or "Or"
        words = schema.get("description", "")
        fields = self.body({**schema, "properties": rest}) if rest else ""
        return "\n\n".join(part for part in (f"**{title}** {words}".rstrip(), fields) if part)

    def type(self, schema: Schema) -> str:
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            # A map needs no name.
            return self.type(self.schemas[name]) if name == MAP else f"[{name}](types.md#{name.lower()})"
        if alternatives := [one for one in schema.get("oneOf", []) if one.get("type") != "null"]:
            return " or ".join(self.type(one) for one in alternatives)
        kind = schema.get("type", "anything")
        kinds = [one for one in ([kind] if isinstance(kind, str) else kind) if one != "null"]
        if "enum" in schema:
            return " or ".join(f"`{value}`" for value in schema["enum"])
        if kinds == ["array"]:
            return f"list of {self.type(schema.get('items', {}))}"
        if kinds == ["object"] and isinstance(schema.get("additionalProperties"), dict):
            return f"object, each {self.type(schema['additionalProperties'])}"
        return " or ".join(kinds)


def table(first: str, rows: list[tuple[str, str, str]]) -> str:
    head = [f"| {first} | type | |", "| --- | --- | --- |"]
    return "\n".join(head + ["| " + " | ".join(line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def line(words: str) -> str:
    return " ".join(words.split())


def fill(items: list[Any], reference: Reference) -> None:
    for item in items:
        if chapter := isinstance(item, dict) and item.get("Chapter"):
            chapter["content"] = PLACE.sub(lambda place: getattr(reference, place[1])(), chapter["content"])
            fill(chapter["sub_items"], reference)


def document() -> Schema:
    with tempfile.TemporaryDirectory(prefix="holdstead-docs-") as folder:
        command = [os.environ["HOLDSTEAD_BIN"], "--dir", folder, "serve", "--json", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as gateway:
            assert gateway.stdout
            try:
                url = json.loads(gateway.stdout.readline())["url"]
                token = (Path(folder) / "token").read_text().strip()
                request = urllib.request.Request(f"{url}/openapi.json", headers={"Authorization": f"Bearer {token}"})
                with urllib.request.urlopen(request) as answer:
                    return json.load(answer)
            finally:
                gateway.terminate()


def main() -> None:
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    fill(book["items"], Reference(document()))
    json.dump(book, sys.stdout)


main()
