"""What is sent: the bodies of asks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .generated import AskCall, Field, Question, QuestionOption


def approval(
    what: str, input: Mapping[str, Any], *, preview: str | None, editable: bool, remember: bool
) -> dict[str, Any]:
    call: dict[str, Any] = {"kind": "approval", "toolName": what, "input": dict(input), "editable": editable}
    if preview is not None:
        call["preview"] = preview
    if remember:
        call["scopes"] = ["session"]
    return call


def question(
    words: str,
    options: Sequence[str | QuestionOption],
    *,
    multi: bool,
    other: bool,
    secret: bool,
    header: str,
    id: str = "answer",
) -> Question:
    shown: Question = {
        "id": id,
        "header": header,
        "question": words,
        "options": [{"label": option} if isinstance(option, str) else option for option in options],
        "multiSelect": multi,
        "allowOther": other,
    }
    if secret:
        shown["secret"] = True
    return shown


def questions(about: str, asked: Sequence[Question]) -> dict[str, Any]:
    return {"kind": "question", "toolName": about, "questions": list(asked)}


def form(about: str, title: str, fields: Sequence[Field] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(fields, Mapping):
        shown: dict[str, Any] = {"title": title, "schema": dict(fields)}
    else:
        shown = {"title": title, "fields": list(fields)}
    return {"kind": "form", "toolName": about, "form": shown}


def complete(
    call: dict[str, Any],
    *,
    key: str,
    reason: str | None = None,
    timeout: float | None = None,
    error: str | None = None,
    field_errors: Mapping[str, str] | None = None,
    initial: Mapping[str, Any] | None = None,
) -> AskCall:
    if not isinstance(key, str) or not key:
        raise ValueError("an ask needs a key: the same key finds the same ask after a restart")
    call["key"] = key
    if reason is not None:
        call["agentSays"] = reason
    if timeout is not None:
        call["timeoutMs"] = max(0, round(timeout * 1000))
    if error is not None:
        call["error"] = error
    if field_errors:
        call["fieldErrors"] = dict(field_errors)
    if initial:
        call["initialValues"] = dict(initial)
    # Found out here, not after a person was asked: what is no JSON cannot be shown.
    json.dumps(call, allow_nan=False)
    return call  # type: ignore[return-value]
