"""An approval before a function: its arguments as an input, and an input as its arguments."""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import EditRefused, NotApproved
from .results import Approved, Decision


@dataclass(frozen=True)
class Call:
    bound: inspect.BoundArguments
    shown: dict[str, Any]
    key: str


class Gate:
    def __init__(self, function: Callable[..., Any], what: str | None, key: Callable[..., str] | None) -> None:
        self.name = what or function.__name__
        self._signature = inspect.signature(function)
        self._key = key
        # The object that a method belongs to is no argument that a person could judge.
        first = next(iter(self._signature.parameters), None)
        self._hidden = first if first in ("self", "cls") else None

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        shown = {name: value for name, value in bound.arguments.items() if name != self._hidden}
        try:
            # As it is sent: what was shown does not change while the person reads.
            shown = json.loads(json.dumps(shown, allow_nan=False))
        except (TypeError, ValueError) as why:
            raise TypeError(f"{self.name} cannot be shown to a person: its arguments are no JSON ({why})") from why
        key = str(uuid.uuid4()) if self._key is None else self._key(*args, **kwargs)
        return Call(bound, shown, key)

    def allowed(self, call: Call, decision: Decision) -> inspect.BoundArguments:
        """The arguments to call with. Anything but an approval is raised."""
        if not isinstance(decision, Approved):
            raise NotApproved(self.name, decision)
        if not decision.edited:
            return call.bound
        edited = decision.input
        if not isinstance(edited, dict) or edited.keys() != call.shown.keys():
            raise EditRefused(f"{self.name} has the arguments {sorted(call.shown)}; approved was {edited}")
        for name, value in edited.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                if not isinstance(value, list):
                    raise EditRefused(f"{name} of {self.name} is a list; approved was {value}")
                value = tuple(value)
            elif kind is inspect.Parameter.VAR_KEYWORD and not isinstance(value, dict):
                raise EditRefused(f"{name} of {self.name} is an object; approved was {value}")
            call.bound.arguments[name] = value
        return call.bound
