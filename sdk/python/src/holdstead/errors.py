"""What keeps an ask from being asked or fetched. None of it says anything about consent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Cancelled, Denied, Expired, Pending, Withdrawn


class HoldsteadError(Exception):
    """All that this package raises."""


class Unreachable(HoldsteadError):
    """The gateway did not answer for too long. What was asked may be open there: ask again with the same key."""


class Refused(HoldsteadError):
    """The gateway does not take this ask."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(status, code, detail)
        self.status = status
        self.code = code
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.detail} ({self.status} {self.code})"


class KeyReused(Refused):
    """This key was used for another ask: one key is one ask, word for word."""


class SecretGone(HoldsteadError):
    """The secret was handed out before, and is kept nowhere. Ask with a new key."""


class EditRefused(HoldsteadError):
    """The person approved arguments that the function does not have. It was not called."""


class NotApproved(HoldsteadError):
    """A gate stayed shut; `result` says why."""

    def __init__(self, what: str, result: Denied | Expired | Cancelled | Withdrawn | Pending) -> None:
        super().__init__(what, result)
        self.what = what
        self.result = result

    def __str__(self) -> str:
        return f"{self.what} was not approved: {self.result}"
