"""What comes back: from an ask as the gateway has it to a result."""

from __future__ import annotations

from typing import Any

from .errors import HoldsteadError, SecretGone
from .generated import Interaction, InteractionResponse, LateResponse
from .results import Answered, Approved, Cancelled, Decision, Declined, Denied, Expired, Pending, Reply, Unanswered, Withdrawn

# What stands in the place of a secret that was fetched before.
_SECRET = "(secret)"


def is_over(ask: Interaction) -> bool:
    return ask["state"] in ("settled", "closed")


def decision(ask: Interaction, key: str) -> Decision:
    if ask["state"] != "settled":
        return _unanswered(ask, key)
    settlement, response = ask["settlement"], _response(ask)
    if settlement == "approved" and response["action"] == "approve":
        edited = response.get("editedInput")
        approved = ask["request"]["input"] if edited is None else edited
        return Approved(approved, edited is not None, _by(response))
    if settlement == "denied":
        return Denied(response.get("reason"), _by(response))
    raise _unknown(ask)


def reply(ask: Interaction, key: str) -> Reply[dict[str, Any]]:
    """The answers by question, or the values by field."""
    if ask["state"] != "settled":
        return _unanswered(ask, key)
    settlement, response = ask["settlement"], _response(ask)
    if settlement == "declined":
        return Declined(response.get("reason"), _by(response))
    if settlement == "answered" and response["action"] == "submit":
        return Answered(_submitted(ask, response), _by(response))
    raise _unknown(ask)


def one(answered: Reply[dict[str, Any]]) -> Reply[Any]:
    """Of an ask with one question: its answer."""
    if isinstance(answered, Answered):
        return _only(answered)
    if isinstance(answered, Expired) and isinstance(answered.late, Answered):
        return Expired(_only(answered.late))
    return answered


def _only(answered: Answered[dict[str, Any]]) -> Answered[Any]:
    (answer,) = answered.answer.values()
    return Answered(answer, answered.by)


def _unanswered(ask: Interaction, key: str) -> Unanswered:
    if not is_over(ask):
        return Pending(key, ask["request"]["interactionId"])
    if ask["closing"] in ("expired", "answered_late"):
        return Expired(_late(ask))
    if ask["closing"] == "cancelled":
        return Cancelled()
    if ask["closing"] == "withdrawn":
        return Withdrawn()
    raise _unknown(ask)


def _late(ask: Interaction) -> Answered[Any] | Declined | None:
    late = ask.get("late")
    if late is None:
        return None
    if late["action"] == "submit":
        return Answered(_submitted(ask, late), late["name"])
    if late["action"] == "cancel":
        return Declined(late.get("reason"), late["name"])
    # An approval cannot be given late.
    return None


def _submitted(ask: Interaction, response: InteractionResponse | LateResponse) -> dict[str, Any]:
    return _answers(ask, response) if ask["request"]["kind"] == "question" else _values(ask, response)


def _answers(ask: Interaction, response: InteractionResponse | LateResponse) -> dict[str, str | list[str]]:
    asked = {question["id"]: question for question in ask["request"]["questions"]}
    found: dict[str, str | list[str]] = {}
    for answer in response["answers"]:
        question = asked[answer["questionId"]]
        other = answer.get("other")
        texts = [*answer.get("labels", []), *([] if other is None else [other])]
        if question.get("secret") and _SECRET in texts:
            raise SecretGone(f"The answer to `{question['question']}` was handed out before: ask with a new key")
        found[question["id"]] = texts if question.get("multiSelect") else texts[0]
    return found


def _values(ask: Interaction, response: InteractionResponse | LateResponse) -> dict[str, Any]:
    values = dict(response["input"])
    for field in ask["request"]["form"]["fields"]:
        if field["type"] == "secret" and values.get(field["id"]) == _SECRET:
            raise SecretGone(f"The value of `{field['id']}` was handed out before: ask with a new key")
    return values


def _response(ask: Interaction) -> InteractionResponse:
    response = ask.get("response")
    if response is None:
        raise _unknown(ask)
    return response


def _by(response: InteractionResponse) -> str:
    """Who decided: a person's name, a rule's, or `grant` for an approval that was remembered."""
    return response.get("name") or response["by"]


def _unknown(ask: Interaction) -> HoldsteadError:
    # A newer gateway may have outcomes that we do not know. They are never taken for an approval.
    return HoldsteadError(f"the ask is in a state that this version does not know: {ask['state']}")
