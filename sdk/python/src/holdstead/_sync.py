"""The face that blocks."""

from __future__ import annotations

import functools
import http.client
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from . import _gate, _wire
from ._face import Asked, Face
from ._steps import Came, Lost, Send, Sleep, ask as steps
from .generated import Field, Question, QuestionOption
from .results import Decision, Reply

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class Holdstead(Face):
    """Asks people. Each call returns what they decided, and resumes the same ask when it is made again.

    `key` names the ask: the same key finds the same ask after a restart, and its answer if it has one.
    `timeout` is how many seconds the ask stays open; then it is `Expired`. `wait` is how many seconds this call waits;
    then, to half a second, it is `Pending`, and the ask stays open.
    """

    def approve(
        self,
        what: str,
        input: Mapping[str, Any],
        *,
        key: str,
        reason: str | None = None,
        preview: str | None = None,
        editable: bool = False,
        remember: bool = False,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Decision:
        """May this be done, with exactly this input?

        With `editable`, the person may change the input: then go on with `Approved.input` and nothing else. With
        `remember`, the person may approve the very same input for as long as this caller's session lives.
        """
        return self._until(
            self._approve(what, input, preview, editable, remember, key=key, reason=reason, timeout=timeout), wait
        )

    @overload
    def ask(
        self,
        words: str,
        options: Sequence[str | QuestionOption] = (),
        *,
        multi: Literal[True],
        other: bool = True,
        secret: bool = False,
        header: str = "Question",
        about: str = "question",
        key: str,
        reason: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[list[str]]: ...

    @overload
    def ask(
        self,
        words: str,
        options: Sequence[str | QuestionOption] = (),
        *,
        multi: Literal[False] = False,
        other: bool = True,
        secret: bool = False,
        header: str = "Question",
        about: str = "question",
        key: str,
        reason: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[str]: ...

    def ask(
        self,
        words: str,
        options: Sequence[str | QuestionOption] = (),
        *,
        multi: bool = False,
        other: bool = True,
        secret: bool = False,
        header: str = "Question",
        about: str = "question",
        key: str,
        reason: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[Any]:
        """One question. With `multi` several options can be chosen; with `other` a free text is an answer, too."""
        asked = self._ask(
            words, options, multi, other, secret, header, about, key=key, reason=reason, timeout=timeout
        )
        return self._until(asked, wait)

    def ask_all(
        self,
        questions: Sequence[Question],
        *,
        about: str = "questions",
        key: str,
        reason: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[dict[str, Any]]:
        """Several questions on one card. The answers are keyed by the questions' ids."""
        return self._until(self._ask_all(questions, about, key=key, reason=reason, timeout=timeout), wait)

    def form(
        self,
        title: str,
        fields: Sequence[Field] | Mapping[str, Any],
        *,
        about: str = "form",
        key: str,
        reason: str | None = None,
        error: str | None = None,
        field_errors: Mapping[str, str] | None = None,
        initial: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[dict[str, Any]]:
        """A form, by its fields or by a flat JSON Schema. The gateway checks the values before they count.

        What it cannot check is asked once more, with a new key: `error`, `field_errors` and `initial` show why, and
        keep what was typed.
        """
        asked = self._form(
            title,
            fields,
            about,
            key=key,
            reason=reason,
            error=error,
            field_errors=field_errors,
            initial=initial,
            timeout=timeout,
        )
        return self._until(asked, wait)

    def gate(
        self,
        what: str | None = None,
        *,
        key: Callable[..., str] | None = None,
        reason: str | None = None,
        remember: bool = False,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Callable[[F], F]:
        """Puts an approval before each call of a function.

        Its name and arguments are what the person sees; what they make of the arguments is what it is called with. It
        is not called, and `NotApproved` is raised, unless a person approved. `key` makes the ask's key of the
        arguments, for calls that go on after a restart; without it, each call is an ask of its own.
        """

        def around(function: F) -> F:
            if inspect.iscoroutinefunction(function):
                raise TypeError("for a coroutine function use the gate of AsyncHoldstead")
            gate = _gate.Gate(function, what, key)

            @functools.wraps(function)
            def gated(*args: Any, **kwargs: Any) -> Any:
                call = gate.bind(args, kwargs)
                decision = self.approve(
                    gate.name,
                    call.shown,
                    key=call.key,
                    reason=reason,
                    editable=True,
                    remember=remember,
                    timeout=timeout,
                    wait=wait,
                )
                allowed = gate.allowed(call, decision)
                return function(*allowed.args, **allowed.kwargs)

            return gated  # type: ignore[return-value]

        return around

    def _until(self, asked: Asked[R], wait: float | None) -> R:
        doing = steps(asked.call, wait, self._away, time.monotonic, self._place.url)
        came: Came = None
        try:
            while True:
                step = doing.send(came)
                if isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    came = None
                else:
                    came = self._send(step)
        except StopIteration as done:
            return asked.result(done.value)

    def _send(self, step: Send) -> Came:
        place = self._place
        kind = http.client.HTTPSConnection if place.tls else http.client.HTTPConnection
        connection = kind(place.host, place.port, timeout=step.patience)
        try:
            connection.request(step.method, place.prefix + step.path, _wire.body(step), _wire.headers(place))
            return _wire.read(connection.getresponse())
        except (OSError, http.client.HTTPException) as why:
            return Lost(why)
        finally:
            connection.close()
