"""The face for asyncio: the same words, awaited."""

from __future__ import annotations

import asyncio
import functools
import inspect
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from . import _gate, _wire
from ._face import Asked, Face
from ._steps import Came, Lost, Send, Sleep, ask as steps
from .generated import Field, Question, QuestionOption
from .results import Decision, Reply

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class AsyncHoldstead(Face):
    """`Holdstead` for asyncio: every call is awaited, and can be cancelled.

    A cancelled wait leaves the ask open: the same key finds it again.
    """

    async def approve(
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
        """As `Holdstead.approve`."""
        return await self._until(
            self._approve(what, input, preview, editable, remember, key=key, reason=reason, timeout=timeout), wait
        )

    @overload
    async def ask(
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
    async def ask(
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

    async def ask(
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
        """As `Holdstead.ask`."""
        asked = self._ask(
            words, options, multi, other, secret, header, about, key=key, reason=reason, timeout=timeout
        )
        return await self._until(asked, wait)

    async def ask_all(
        self,
        questions: Sequence[Question],
        *,
        about: str = "questions",
        key: str,
        reason: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Reply[dict[str, Any]]:
        """As `Holdstead.ask_all`."""
        return await self._until(self._ask_all(questions, about, key=key, reason=reason, timeout=timeout), wait)

    async def form(
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
        """As `Holdstead.form`."""
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
        return await self._until(asked, wait)

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
        """As `Holdstead.gate`, for coroutine functions."""

        def around(function: F) -> F:
            if not inspect.iscoroutinefunction(function):
                raise TypeError("for a plain function use the gate of Holdstead")
            gate = _gate.Gate(function, what, key)

            @functools.wraps(function)
            async def gated(*args: Any, **kwargs: Any) -> Any:
                call = gate.bind(args, kwargs)
                decision = await self.approve(
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
                return await function(*allowed.args, **allowed.kwargs)

            return gated  # type: ignore[return-value]

        return around

    async def _until(self, asked: Asked[R], wait: float | None) -> R:
        doing = steps(asked.call, wait, self._away, time.monotonic, self._place.url)
        came: Came = None
        try:
            while True:
                step = doing.send(came)
                if isinstance(step, Sleep):
                    await asyncio.sleep(step.seconds)
                    came = None
                else:
                    came = await self._send(step)
        except StopIteration as done:
            return asked.result(done.value)

    async def _send(self, step: Send) -> Came:
        try:
            return _wire.parsed(await asyncio.wait_for(self._exchange(step), step.patience))
        except (OSError, asyncio.TimeoutError) as why:
            return Lost(why)

    async def _exchange(self, step: Send) -> bytes:
        place = self._place
        tls = ssl.create_default_context() if place.tls else None
        reader, writer = await asyncio.open_connection(place.host, place.port, ssl=tls)
        try:
            writer.write(_wire.as_bytes(place, step))
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()
