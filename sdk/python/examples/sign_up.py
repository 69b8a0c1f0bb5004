"""An address that is asked for until it is good.

The gateway checks the form of it, and leaves the prompt open for another try. What only this program can know, such as
an address that is taken, is asked once more: a new ask with a key of its own, which says what is wrong and keeps what
was typed.
"""

from __future__ import annotations

import sys

from holdstead import Answered, Holdstead

TAKEN = {"ana@example.org", "ben@example.org"}
ATTEMPTS = 5
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "email": {"type": "string", "title": "Email", "format": "email"},
    },
    "required": ["name", "email"],
}


def main(key: str) -> None:
    hold = Holdstead()
    wrong: dict[str, str] = {}
    typed: dict[str, str] = {}
    for attempt in range(1, ATTEMPTS + 1):
        error = "That did not work." if wrong else None
        got = hold.form(
            "Sign up", SCHEMA, about="signup", key=f"{key}/{attempt}", error=error, field_errors=wrong, initial=typed
        )
        if not isinstance(got, Answered):
            print(f"nobody signed up: {got}")
            return
        if got.answer["email"] not in TAKEN:
            print(f"{got.answer['name']} signed up with {got.answer['email']}, attempt {attempt}")
            return
        wrong, typed = {"email": "is taken"}, got.answer
    print("too many attempts")


if __name__ == "__main__":
    main(sys.argv[1])
