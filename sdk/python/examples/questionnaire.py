"""Several questions on one card. Stopped and started again with the same key, it goes on with the same card."""

from __future__ import annotations

import sys

from holdstead import Answered, Declined, Holdstead

QUESTIONS = [
    {
        "id": "store",
        "header": "Store",
        "question": "Which store?",
        "options": [
            {"label": "SQLite", "description": "one file, no server"},
            {"label": "PostgreSQL", "description": "for a team"},
        ],
        "allowOther": False,
    },
    {
        "id": "regions",
        "header": "Regions",
        "question": "Which regions?",
        "options": [{"label": "eu"}, {"label": "us"}, {"label": "asia"}],
        "multiSelect": True,
    },
    {"id": "name", "header": "Name", "question": "What is it called?"},
]


def main(key: str) -> None:
    match Holdstead().ask_all(QUESTIONS, about="setup", key=key):
        case Answered(answer=answers):
            print(f"{answers['name']}: {answers['store']} in {' and '.join(answers['regions'])}")
        case Declined(reason=reason):
            print(f"declined: {reason}")
        case other:
            print(f"no answers: {other}")


if __name__ == "__main__":
    main(sys.argv[1])
