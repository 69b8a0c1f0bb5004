"""Where the gateway is, and one request as bytes."""

from __future__ import annotations

import http.client
import io
import json
import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from ._steps import Lost, Received, Send

DEFAULT_URL = "http://127.0.0.1:4780"


@dataclass(frozen=True)
class Place:
    tls: bool
    host: str
    port: int
    prefix: str
    token: str

    @staticmethod
    def of(url: str | None, token: str | None) -> Place:
        url = url or os.environ.get("HOLDSTEAD_URL") or DEFAULT_URL
        token = token or os.environ.get("HOLDSTEAD_TOKEN")
        if not token:
            raise ValueError("set HOLDSTEAD_TOKEN to an agent token: holdstead token --role agent --name NAME")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("the token has characters that no token has")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{url}` is no http or https address")
        tls = parts.scheme == "https"
        return Place(tls, parts.hostname, parts.port or (443 if tls else 80), parts.path.rstrip("/"), token)

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.netloc}{self.prefix}"


def headers(place: Place) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {place.token}",
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Connection": "close",
    }


def body(step: Send) -> bytes | None:
    return None if step.body is None else json.dumps(step.body, allow_nan=False).encode()


def as_bytes(place: Place, step: Send) -> bytes:
    content = body(step) or b""
    lines = [f"{step.method} {place.prefix}{step.path} HTTP/1.1", f"Host: {place.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers(place).items()]
    lines += [f"Content-Length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode("ascii") + content


def parsed(received: bytes) -> Received | Lost:
    """A whole answer, read to the end of its connection."""
    try:
        response = http.client.HTTPResponse(_Bytes(received))  # type: ignore[arg-type]
        response.begin()
        return read(response)
    except (http.client.HTTPException, OSError) as why:
        return Lost(why)


def read(response: http.client.HTTPResponse) -> Received | Lost:
    content = response.read()
    retry_after = response.getheader("Retry-After", "")
    try:
        value = json.loads(content) if content else None
    except ValueError as why:
        if response.status < 300:
            return Lost(why)
        value = None  # A proxy's own page: its status says enough.
    return Received(response.status, float(retry_after) if retry_after.isdigit() else None, value)


class _Bytes:
    """As much of a socket as the parser wants."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)
