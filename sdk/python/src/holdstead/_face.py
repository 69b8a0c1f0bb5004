"""What both faces have in common: the words of each ask, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Generic, TypeVar

from . import _calls, _read
from ._wire import Place
from .generated import AskCall, Field, Interaction, Question, QuestionOption
from .results import Decision, Reply

R = TypeVar("R")


@dataclass(frozen=True)
class Asked(Generic[R]):
    """An ask to be made, and what its end means."""

    call: AskCall
    read: Callable[[Interaction, str], R]

    def result(self, ask: Interaction) -> R:
        return self.read(ask, self.call["key"])


class Face:
    def __init__(self, url: str | None = None, token: str | None = None, *, away: float = 300.0) -> None:
        """Where the gateway is (HOLDSTEAD_URL) and who asks (HOLDSTEAD_TOKEN, of the role agent).

        A gateway that is away, as in a restart, is tried again for `away` seconds.
        """
        self._place = Place.of(url, token)
        self._away = away

    def _approve(
        self,
        what: str,
        input: Mapping[str, Any],
        preview: str | None,
        editable: bool,
        remember: bool,
        **common: Any,
    ) -> Asked[Decision]:
        call = _calls.approval(what, input, preview=preview, editable=editable, remember=remember)
        return Asked(_calls.complete(call, **common), _read.decision)

    def _ask(
        self,
        words: str,
        options: Sequence[str | QuestionOption],
        multi: bool,
        other: bool,
        secret: bool,
        header: str,
        about: str,
        **common: Any,
    ) -> Asked[Reply[Any]]:
        question = _calls.question(words, options, multi=multi, other=other, secret=secret, header=header)
        call = _calls.complete(_calls.questions(about, [question]), **common)
        return Asked(call, lambda ask, key: _read.one(_read.reply(ask, key)))

    def _ask_all(self, questions: Sequence[Question], about: str, **common: Any) -> Asked[Reply[dict[str, Any]]]:
        return Asked(_calls.complete(_calls.questions(about, questions), **common), _read.reply)

    def _form(
        self, title: str, fields: Sequence[Field] | Mapping[str, Any], about: str, **common: Any
    ) -> Asked[Reply[dict[str, Any]]]:
        return Asked(_calls.complete(_calls.form(about, title, fields), **common), _read.reply)
