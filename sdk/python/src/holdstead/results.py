"""What became of an ask. Each outcome is a type of its own, and none of them is true or false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, Union

T = TypeVar("T")


class _Result:
    def __bool__(self) -> NoReturn:
        # `if hold.approve(…):` would run whatever was answered.
        raise TypeError(f"{type(self).__name__} is neither true nor false: match it, or compare its type")


@dataclass(frozen=True)
class Approved(_Result):
    """Go on, with this input: where the ask was editable, it is what the person made of it."""

    input: Any
    edited: bool
    by: str


@dataclass(frozen=True)
class Denied(_Result):
    reason: str | None
    by: str


@dataclass(frozen=True)
class Answered(_Result, Generic[T]):
    answer: T
    by: str


@dataclass(frozen=True)
class Declined(_Result):
    """A person chose not to answer."""

    reason: str | None
    by: str


@dataclass(frozen=True)
class Expired(_Result):
    """Nobody answered in time.

    `late` is an answer that came after that, if one has: it settled nothing, and using it is up to you. Ask again with the
    same key to look for it.
    """

    late: Answered[Any] | Declined | None = None


@dataclass(frozen=True)
class Cancelled(_Result):
    """The ask was cancelled, for instance because its session was ended."""


@dataclass(frozen=True)
class Withdrawn(_Result):
    """The ask was withdrawn by the program that asked."""


@dataclass(frozen=True)
class Pending(_Result):
    """Not decided yet, and still open. Ask again with the same key to go on waiting."""

    key: str
    id: str


Unanswered = Union[Expired, Cancelled, Withdrawn, Pending]
Decision = Union[Approved, Denied, Unanswered]
Reply = Union[Answered[T], Declined, Unanswered]
