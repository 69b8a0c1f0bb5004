"""A real gateway in a folder of its own, for tests, shows and scripts. It listens on loopback and ends with them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

REPOSITORY = Path(__file__).parents[3]


def binary() -> str:
    """The binary that is named, or that was built last."""
    named = os.environ.get("HOLDSTEAD_BIN")
    if named:
        return named
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    built = [path for kind in ("debug", "release") if (path := target / kind / "holdstead").exists()]
    if not built:
        raise SystemExit("There is no holdstead binary. Build it: cargo build -p holdstead")
    return str(max(built, key=lambda path: path.stat().st_mtime))


def environment() -> dict[str, str]:
    """Where the tests run as root, agents may, too."""
    return {**os.environ, "HOLDSTEAD_AGENTS_USER": "root" if os.geteuid() == 0 else ""}


class Gateway:
    def __init__(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="holdstead-python-")
        self._listen = "127.0.0.1:0"
        self.start()

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        command = [binary(), "--dir", self.dir, "serve", "--json", "--listen", self._listen]
        with open(Path(self.dir) / "stderr", "ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment()
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"The gateway did not start: {(Path(self.dir) / 'stderr').read_text()}")
        self.url: str = json.loads(line)["url"]
        # After a kill it comes back where its callers look for it.
        self._listen = urlsplit(self.url).netloc
        self.person = (Path(self.dir) / "token").read_text().strip()

    def kill(self) -> None:
        """Dies at once, as after a power cut."""
        self._process.kill()
        self._end()

    def stop(self) -> None:
        self._process.terminate()
        self._end()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _end(self) -> None:
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def token(self, name: str, role: str = "agent") -> str:
        command = [binary(), "--dir", self.dir, "token", "--role", role, "--name", name.rsplit(".", 1)[-1][:64]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def send(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=90)
        headers = {"Authorization": f"Bearer {token or self.person}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.send(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def open_asks(self) -> list[dict[str, Any]]:
        return self.call("GET", "/v1/interactions?state=open")["interactions"]

    def next_ask(self) -> dict[str, Any]:
        """The oldest open ask, as soon as there is one."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if asks := self.open_asks():
                return asks[0]
            time.sleep(0.02)
        raise AssertionError("nobody asked anything")

    def respond(self, ask: dict[str, Any], response: dict[str, Any], key: str = "k") -> tuple[int, Any]:
        """What a person's screen sends."""
        request = ask["request"]
        body = {"promptId": request["promptId"], "idempotencyKey": key, **response}
        return self.send("POST", f"/v1/interactions/{request['interactionId']}/respond", body)

    def answer(self, *responses: dict[str, Any]) -> Person:
        """A person who answers the next asks with these, one after the other."""
        return Person(self, responses)


class Person(threading.Thread):
    def __init__(self, gateway: Gateway, responses: tuple[dict[str, Any], ...]) -> None:
        super().__init__(daemon=True)
        self._gateway = gateway
        self._responses = responses
        self._failure: BaseException | None = None
        self.asks: list[dict[str, Any]] = []
        """What they were shown."""
        self.start()

    def run(self) -> None:
        try:
            for response in self._responses:
                ask = self._gateway.next_ask()
                self.asks.append(ask)
                status, receipt = self._gateway.respond(ask, response)
                assert status == 200, f"{status} {receipt}"
        except BaseException as failure:
            self._failure = failure

    def done(self) -> list[dict[str, Any]]:
        self.join(30)
        assert not self.is_alive(), "not all was asked"
        if self._failure is not None:
            raise self._failure
        return self.asks
