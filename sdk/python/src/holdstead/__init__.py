"""Ask a person, and go on with exactly what they decided. Silence never approves."""

from ._aio import AsyncHoldstead
from ._sync import Holdstead
from .errors import EditRefused, HoldsteadError, KeyReused, NotApproved, Refused, SecretGone, Unreachable
from .results import Answered, Approved, Cancelled, Declined, Denied, Expired, Pending, Withdrawn

__all__ = [
    "Answered",
    "Approved",
    "AsyncHoldstead",
    "Cancelled",
    "Declined",
    "Denied",
    "EditRefused",
    "Expired",
    "Holdstead",
    "HoldsteadError",
    "KeyReused",
    "NotApproved",
    "Pending",
    "Refused",
    "SecretGone",
    "Unreachable",
    "Withdrawn",
]
