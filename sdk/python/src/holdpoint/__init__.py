"""Ask a person, and go on with exactly what they decided. Silence never approves."""

from ._aio import AsyncHoldpoint
from ._sync import Holdpoint
from .errors import EditRefused, HoldpointError, KeyReused, NotApproved, Refused, SecretGone, Unreachable
from .results import Answered, Approved, Cancelled, Declined, Denied, Expired, Pending

__all__ = [
    "Answered",
    "Approved",
    "AsyncHoldpoint",
    "Cancelled",
    "Declined",
    "Denied",
    "EditRefused",
    "Expired",
    "Holdpoint",
    "HoldpointError",
    "KeyReused",
    "NotApproved",
    "Pending",
    "Refused",
    "SecretGone",
    "Unreachable",
]
