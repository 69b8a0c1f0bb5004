"""One process of callers, which may be killed at any moment. Started again, it goes on with the same keys."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

from holdstead import Answered, Approved, AsyncHoldstead, Denied, Holdstead

FIELDS = [{"id": "value", "label": "Value", "type": "text", "required": True}]


def call(key: str, number: int) -> tuple[str, list[Any], dict[str, Any]]:
    """Of each kind a third."""
    if number % 3 == 0:
        return "approve", ["deploy", {"key": key}], {"key": key, "reason": key, "editable": True}
    if number % 3 == 1:
        return "ask", [f"Which word for {key}?"], {"key": key, "reason": key}
    return "form", ["Word", FIELDS], {"key": key, "reason": key}


def word(result: object) -> str:
    """What was given, in one word."""
    if isinstance(result, Approved):
        return result.input["value"]
    if isinstance(result, Denied):
        return str(result.reason)
    if isinstance(result, Answered):
        return result.answer["value"] if isinstance(result.answer, dict) else result.answer
    raise SystemExit(f"nobody said anything: {result}")


class Caller:
    def __init__(self, name: str, asks: int, folder: Path) -> None:
        self._file = folder / name
        self._name = name
        self._asks = asks

    def left(self) -> list[tuple[str, int]]:
        """What has no result yet, and the last that has one: asked again, it must get the same."""
        written = self._file.read_text() if self._file.exists() else ""
        # A line that a kill cut off is no result, and must not be continued.
        whole = written[: written.rfind("\n") + 1]
        self._file.write_text(whole)
        had = len({line.split()[0] for line in whole.splitlines()})
        first = max(0, had - 1)
        return [(f"{self._name}/{number}", number) for number in range(first, self._asks)]

    def got(self, key: str, result: object) -> None:
        with self._file.open("a") as file:
            file.write(f"{key} {word(result)}\n")

    def run(self, hold: Holdstead) -> None:
        for key, number in self.left():
            method, args, more = call(key, number)
            self.got(key, getattr(hold, method)(*args, **more))

    async def run_async(self, hold: AsyncHoldstead) -> None:
        for key, number in self.left():
            method, args, more = call(key, number)
            self.got(key, await getattr(hold, method)(*args, **more))


def main(process: int, callers: int, asks: int, folder: Path) -> None:
    all_callers = [Caller(f"caller-{process}-{number}", asks, folder) for number in range(callers)]
    if process % 2:

        async def together() -> None:
            hold = AsyncHoldstead()
            await asyncio.gather(*(caller.run_async(hold) for caller in all_callers))

        asyncio.run(together())
        return
    hold = Holdstead()
    failed = threading.Event()

    def run(caller: Caller) -> None:
        try:
            caller.run(hold)
        except BaseException as why:
            print(f"caller {process}: {why!r}", file=sys.stderr)
            failed.set()

    threads = [threading.Thread(target=run, args=(caller,)) for caller in all_callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(1 if failed.is_set() else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
