"""Asks, waits a moment, and goes on with other work if nobody is there. A later run with the same key has the answer."""

from __future__ import annotations

import sys

from holdstead import Answered, Holdstead, Pending


def main(key: str) -> None:
    match Holdstead().ask("Which colour?", ["Blue", "Green"], key=key, wait=1):
        case Answered(answer=colour, by=name):
            print(f"{colour}, says {name}")
        case Pending():
            print("pending: asked, and not answered yet")
        case other:
            print(f"no answer: {other}")


if __name__ == "__main__":
    main(sys.argv[1])
