"""5,000 asks from 100 callers that are killed and started again, with a gateway that is killed, too.

Every caller ends with the one answer that was given for its key. Half of the callers block, half use asyncio.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.running import Gateway

PROCESSES = 10
CALLERS = 10  # in each process
ASKS = 50  # of each caller
ALL = PROCESSES * CALLERS * ASKS
ANSWERERS = 4
KILLS = 50  # of caller processes, spread over the run
WITHDRAWALS = 100
LONGEST = 300.0


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:12]


class Answers:
    """The person's side: several screens answer what they see. What was given for each key is written down."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lock = threading.Lock()
        self._claimed: set[str] = set()
        self.given: dict[str, str] = {}
        self.failures: list[str] = []
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._answer, daemon=True) for _ in range(ANSWERERS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _answer(self) -> None:
        screen = Screen(self._gateway)
        while not self._stopped.is_set():
            _, page = screen.send("GET", "/v1/interactions?state=open&limit=100")
            mine = [ask for ask in page["interactions"] if self._claim(ask["request"]["interactionId"])]
            for ask in mine:
                self._one(screen, ask["request"])
            if not mine:
                time.sleep(0.05)

    def _claim(self, ask: str) -> bool:
        with self._lock:
            fresh = ask not in self._claimed
            self._claimed.add(ask)
            return fresh

    def _one(self, screen: Screen, request: dict[str, Any]) -> None:
        # Derived from the key, and never the same twice: a second answer for a key would show.
        key = request["agentSays"]
        given = f"{digest(key)}-{os.urandom(4).hex()}"
        if request["kind"] == "question":
            response: dict[str, Any] = {"action": "submit", "answers": {"answer": given}}
        elif request["kind"] == "form":
            response = {"action": "submit", "input": {"value": given}}
        elif int(digest(key), 16) % 2:
            response = {"action": "deny", "reason": given}
        else:
            response = {"action": "approve", "editedInput": {"value": given}}
        # With the idempotency key it is safe to send again, whatever the gateway's death left undone.
        body = {"promptId": request["promptId"], "idempotencyKey": given, **response}
        status, receipt = screen.send("POST", f"/v1/interactions/{request['interactionId']}/respond", body)
        with self._lock:
            if status != 200:
                self.failures.append(f"{key}: the answer got {status} {receipt}")
            elif key in self.given:
                self.failures.append(f"{key}: answered twice")
            else:
                self.given[key] = given


class Screen:
    """One connection of a person's, made anew when the gateway is gone or asks for patience."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self._gateway.url).netloc, timeout=30)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._gateway.person}", "Content-Type": "application/json"}
        while True:
            try:
                self._connection.request(method, path, None if body is None else json.dumps(body), headers)
                response = self._connection.getresponse()
                content = json.loads(response.read())
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = self._connect()
                time.sleep(0.1)
                continue
            if response.status in (429, 503):
                time.sleep(float(response.getheader("Retry-After", "0.1")))
                continue
            return response.status, content


def results(folder: Path) -> list[tuple[str, str]]:
    """What callers wrote down. A line that its writer's death cut off was no result."""
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines(keepends=True)]
    return [(key, got) for key, got in (line.split() for line in lines if line.endswith("\n"))]


def main() -> int:
    chance = random.Random()
    begin = time.monotonic()
    with Gateway() as gateway, tempfile.TemporaryDirectory() as folder:
        # One token for each process, as for ten programs: each has a session of its own.
        tokens = [gateway.token(f"caller {process}") for process in range(PROCESSES)]

        def start(process: int) -> subprocess.Popen[bytes]:
            arguments = [str(process), str(CALLERS), str(ASKS), folder]
            environment = {**os.environ, "HOLDSTEAD_URL": gateway.url, "HOLDSTEAD_TOKEN": tokens[process]}
            return subprocess.Popen([sys.executable, "-m", "shows.caller", *arguments], env=environment)

        callers = [start(process) for process in range(PROCESSES)]
        answers = Answers(gateway)
        restarts = gateway_kills = 0
        failures: list[str] = []
        running = set(range(PROCESSES))
        try:
            while running:
                time.sleep(0.02)
                if time.monotonic() - begin > LONGEST:
                    failures.append(f"not done after {LONGEST:.0f} s")
                    break
                for process in list(running):
                    code = callers[process].poll()
                    if code == 0:
                        running.discard(process)
                    elif code is not None:
                        failures.append(f"caller process {process} failed: {code}")
                        running.discard(process)
                if running and len(answers.given) >= (restarts + 1) * ALL // (KILLS + 1):
                    victim = chance.choice(sorted(running))
                    callers[victim].send_signal(signal.SIGKILL)
                    if callers[victim].wait() == -signal.SIGKILL:
                        restarts += 1
                        callers[victim] = start(victim)
                if gateway_kills == 0 and len(answers.given) > ALL // 2:
                    waiting = len(gateway.call("GET", "/v1/interactions?state=open&limit=100")["interactions"])
                    gateway.kill()
                    gateway_kills += 1
                    print(f"gateway killed with {len(answers.given)} answers given and {waiting} asks open")
                    time.sleep(1)
                    gateway.start()
        finally:
            for caller in callers:
                caller.kill()
                caller.wait()
        answers.stop()
        failures += answers.failures

        got: dict[str, set[str]] = {}
        for key, value in results(Path(folder)):
            got.setdefault(key, set()).add(value)
        right = sum(values == {answers.given.get(key)} for key, values in got.items())
        failures += [f"{key}: {values}, not {answers.given.get(key)}" for key, values in got.items()
                     if values != {answers.given.get(key)}]
        asked = journal(gateway)
        failures += withdrawals(gateway)
    if asked != ALL:
        failures.append(f"there are {asked} asks, not {ALL}: one key was asked twice, or never")
    # The last few may find their victim done.
    if gateway_kills != 1 or restarts < KILLS * 4 // 5:
        failures.append(f"too little went wrong: {restarts} restarts, {gateway_kills} kills of the gateway")
    for failure in failures[:20]:
        print(failure)
    print(f"callers: {PROCESSES * CALLERS} in {PROCESSES} processes; killed and started again: {restarts}")
    print(f"asks in the journal: {asked}; answers given: {len(answers.given)}; gateway killed: {gateway_kills}")
    print(f"time: {time.monotonic() - begin:.0f} s")
    print(f"keys whose caller ended with the one answer given: {right} of {ALL}")
    return 0 if right == ALL and not failures else 1


def withdrawals(gateway: Gateway) -> list[str]:
    """A program withdraws an ask while a person answers it: exactly one of them succeeds, in either order."""
    token = gateway.token("withdrawing")
    counts: dict[str, int] = {"withdrawn": 0, "answered": 0}
    failures = []
    for n in range(WITHDRAWALS):
        call = {"key": f"w{n}", "kind": "approval", "toolName": "deploy", "input": {"n": n}}
        _, ask = gateway.send("POST", "/v1/interactions", call, token)
        path = f"/v1/interactions/{ask['request']['interactionId']}"
        got: dict[str, int] = {}
        answer = threading.Thread(
            target=lambda: got.update(answered=gateway.respond(ask, {"action": "approve"}, f"w{n}")[0])
        )
        answer.start()
        got["withdrawn"] = gateway.send("DELETE", path, token=token)[0]
        answer.join()
        again = gateway.send("DELETE", path, token=token)[0]
        if got == {"withdrawn": 200, "answered": 410} and again == 200:
            counts["withdrawn"] += 1
        elif got == {"withdrawn": 409, "answered": 200} and again == 409:
            counts["answered"] += 1
        else:
            failures.append(f"a withdrawal beside an answer got {got}, and {again} when repeated")
    print(f"withdrawals beside an answer: {counts['withdrawn']} came first, {counts['answered']} came second")
    return failures


def journal(gateway: Gateway) -> int:
    """All asks there are."""
    count, place = 0, ""
    while True:
        page = gateway.call("GET", f"/v1/interactions?state=all&limit=100{place}")
        count += len(page["interactions"])
        if not page.get("next"):
            return count
        place = f"&after={page['next']}"


if __name__ == "__main__":
    sys.exit(main())
