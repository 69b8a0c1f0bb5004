"""The way of one ask, without any network: what to send and how long to wait, step by step.

The two faces, one that blocks and one for asyncio, do the steps and send back what came of them. Asking is safe to
repeat, because one key is one ask; so is looking. So whatever goes wrong on the way is tried again, and nothing but an
answer ends the wait.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Union
from urllib.parse import quote

from ._read import is_over
from .errors import KeyReused, Refused, Unreachable
from .generated import AskCall, Interaction

# Whoever waits longer than this is told once what for. A program's own logging settings apply.
FIRST_LOOK = 3
# How long one request waits at the gateway.
LONG_POLL = 30
# What the gateway may need on top of it, before the connection counts as lost.
SLACK = 15
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


@dataclass(frozen=True)
class Send:
    method: str
    path: str
    body: Any
    patience: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Received:
    status: int
    retry_after: float | None
    body: Any


@dataclass(frozen=True)
class Lost:
    """The connection failed, before or after the gateway had the request."""

    why: Exception


Step = Union[Send, Sleep]
Came = Union[Received, Lost, None]
Clock = Callable[[], float]

_log = logging.getLogger("holdstead")


def ask(
    call: AskCall, wait: float | None, away: float, clock: Clock, page: str = ""
) -> Generator[Step, Came, Interaction]:
    """Asks, or finds the ask that was asked before, and waits until it is over or `wait` seconds are."""
    end = None if wait is None else clock() + wait
    opened = yield from _reach("POST", "/v1/interactions", call, 0, end, away, clock)
    id = opened["request"]["interactionId"]
    path = f"/v1/interactions/{quote(id, safe='')}"
    longest = FIRST_LOOK
    while True:
        # Also where it is over already: only looking hands out secrets, and shows that we have the answer.
        seconds = longest if end is None else max(0, min(longest, round(end - clock())))
        found = yield from _reach("GET", f"{path}?wait={seconds}s", None, seconds, end, away, clock)
        if is_over(found) or (end is not None and clock() >= end - 0.5):
            return found
        if longest == FIRST_LOOK:
            where = f"at {page}/sessions/{opened['sessionId']}?ask={id} or " if page else ""
            _log.warning("Waiting for a person: %s. Answer %swith: holdstead answer %s", call["toolName"], where, id)
        longest = LONG_POLL


def _reach(
    method: str, path: str, body: Any, seconds: float, end: float | None, away: float, clock: Clock
) -> Generator[Step, Came, Interaction]:
    """One request, until the gateway has taken or refused it."""
    lost_since: float | None = None
    pause = FIRST_PAUSE
    while True:
        came = yield Send(method, path, body, seconds + SLACK)
        if isinstance(came, Received) and 200 <= came.status < 300:
            found: Interaction = came.body
            return found
        if isinstance(came, Received) and came.status not in (429, 502, 503, 504):
            raise _refusal(came)
        now = clock()
        lost_since = now if lost_since is None else lost_since
        if now - lost_since >= away or (end is not None and now >= end):
            raise Unreachable(f"the gateway did not answer {method} {path}: {_words(came)}")
        asked_to = came.retry_after if isinstance(came, Received) and came.retry_after else 0
        # Spread out, so that many callers do not come back in the same moment.
        yield Sleep(asked_to + pause * random.uniform(0.5, 1))
        pause = min(pause * 2, LONGEST_PAUSE)


def _refusal(came: Received) -> Refused:
    problem = came.body if isinstance(came.body, dict) else {}
    code, detail = problem.get("code", "unknown"), problem.get("detail", "The gateway did not say why.")
    if code == "idempotency_key_reused":
        detail = "This key was used for another ask. One key is one ask, word for word: take a new key."
        return KeyReused(came.status, code, detail)
    return Refused(came.status, code, detail)


def _words(came: Came) -> str:
    if isinstance(came, Lost):
        return f"{came.why}"
    return f"status {came.status}" if came is not None else "nothing came"
