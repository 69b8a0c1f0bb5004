"""The committed types are those that the gateway's OpenAPI document gives."""

from __future__ import annotations

import unittest

from scripts import types
from tests.running import Gateway


class Types(unittest.TestCase):
    def test_they_are_current(self) -> None:
        with Gateway() as gateway:
            written = types.write(gateway.call("GET", "/openapi.json"))
        current = types.FILE.read_text(encoding="utf-8") == written
        self.assertTrue(current, "run `just api` and commit the generated types")


if __name__ == "__main__":
    unittest.main()
