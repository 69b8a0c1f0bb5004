"""Writes src/holdstead/generated.py: the types of what is sent and received, from the gateway's OpenAPI document.

    PYTHONPATH=src python3 -m scripts.types
"""

from __future__ import annotations

import keyword
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "src/holdstead/generated.py"
# What callers send and get; all that these are made of comes with them.
ROOTS = ["AskCall", "Interaction", "Problem"]
HEAD = '''"""Written by scripts/types.py from the gateway's OpenAPI document. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
'''

Schema = dict[str, Any]


def write(document: Schema) -> str:
    schemas: dict[str, Schema] = document["components"]["schemas"]
    wanted, queue = set(), list(ROOTS)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(references(schemas[name]))
    aliases, classes = [], []
    for name in sorted(wanted):
        properties, required = flattened(schemas[name], schemas)
        if properties:
            classes.append(typed_dict(name, properties, required))
        else:
            aliases.append(f"{name} = {written(schemas[name])}")
    return HEAD + "\n" + "\n".join(aliases) + "\n\n\n" + "\n\n\n".join(classes) + "\n"


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in references(part)]
    if not isinstance(schema, dict):
        return []
    found = [schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else []
    return found + [name for part in schema.values() for name in references(part)]


def flattened(schema: Schema, schemas: dict[str, Schema]) -> tuple[dict[str, list[Schema]], set[str]]:
    """The properties of an object with all its alternatives, and which of them are there in each."""
    if "$ref" in schema:
        return flattened(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    properties: dict[str, list[Schema]] = {
        name: [property] for name, property in schema.get("properties", {}).items()
    }
    required = set(schema.get("required", []))
    for part in schema.get("allOf", []):
        more, needed = flattened(part, schemas)
        merge(properties, more)
        required |= needed
    alternatives = [flattened(part, schemas) for part in schema.get("oneOf", []) if part.get("type") != "null"]
    for more, _ in alternatives:
        merge(properties, more)
    if alternatives:
        required |= set.intersection(*(needed for _, needed in alternatives))
    return properties, required


def merge(into: dict[str, list[Schema]], more: dict[str, list[Schema]]) -> None:
    for name, schemas in more.items():
        into.setdefault(name, []).extend(schemas)


def typed_dict(name: str, properties: dict[str, list[Schema]], required: set[str]) -> str:
    there = [line(key, properties[key]) for key in sorted(properties) if key in required]
    maybe = [line(key, properties[key]) for key in sorted(properties) if key not in required]
    if not maybe:
        return "\n".join([f"class {name}(TypedDict):", *there])
    if not there:
        return "\n".join([f"class {name}(TypedDict, total=False):", *maybe])
    # In two classes: a key that may be missing needs Python 3.11 otherwise.
    base = "\n".join([f"class _{name}(TypedDict):", *there])
    return base + "\n\n\n" + "\n".join([f"class {name}(_{name}, total=False):", *maybe])


def line(key: str, schemas: list[Schema]) -> str:
    assert key.isidentifier() and not keyword.iskeyword(key), f"`{key}` cannot be a name in Python"
    if all("enum" in schema for schema in schemas):
        return f"    {key}: {literal(value for schema in schemas for value in schema['enum'])}"
    parts = list(dict.fromkeys(part for schema in schemas for part in written(schema).split(" | ")))
    return f"    {key}: {'Any' if 'Any' in parts else ' | '.join(parts)}"


def literal(values: Any) -> str:
    return f"Literal[{', '.join(dict.fromkeys(repr(value).replace(chr(39), chr(34)) for value in values))}]"


def written(schema: Schema) -> str:
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "enum" in schema:
        return literal(schema["enum"])
    if "oneOf" in schema:
        values = [part for part in schema["oneOf"]]
        if all("enum" in part for part in values):
            return literal(value for part in values for value in part["enum"])
        return " | ".join(dict.fromkeys(written(part) for part in values))
    kinds = schema.get("type", [])
    names = [plain(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " | ".join(names) if names else "Any"


def plain(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list[{written(schema['items'])}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {written(values) if isinstance(values, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]


def main() -> None:
    from tests.running import Gateway

    with Gateway() as gateway:
        FILE.write_text(write(gateway.call("GET", "/openapi.json")), encoding="utf-8")


if __name__ == "__main__":
    main()
