"""Each example, as a program of its own, against the real gateway."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from tests.running import Gateway

PYTHON = Path(__file__).parent.parent


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = Gateway()
        self.addCleanup(self.gateway.stop)
        self.token = self.gateway.token("example")

    def start(self, example: str, *arguments: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "HOLDSTEAD_URL": self.gateway.url,
            "HOLDSTEAD_TOKEN": self.token,
            "PYTHONPATH": str(PYTHON / "src"),
        }
        command = [sys.executable, str(PYTHON / "examples" / f"{example}.py"), *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def prints(self, process: subprocess.Popen[str]) -> list[str]:
        printed, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        return printed.splitlines()

    def test_approval_gate(self) -> None:
        # Asked for staging once, remembered for the session; production is another input.
        person = self.gateway.answer(
            {"action": "approve", "scope": "session"}, {"action": "deny", "reason": "not on Fridays"}
        )
        printed = self.prints(self.start("approval_gate", "staging", "staging", "production"))
        self.assertEqual(printed, ["deployed to staging", "deployed to staging", "denied: not on Fridays"])
        self.assertEqual([ask["request"]["input"]["to"] for ask in person.done()], ["staging", "production"])

    def test_questionnaire_goes_on_after_a_kill(self) -> None:
        killed = self.start("questionnaire", "setup-1")
        first = self.gateway.next_ask()
        killed.kill()
        killed.communicate()
        again = self.start("questionnaire", "setup-1")
        answers = {"store": "SQLite", "regions": ["eu", "asia"], "name": "shop"}
        self.assertEqual(self.gateway.respond(first, {"action": "submit", "answers": answers})[0], 200)
        self.assertEqual(self.prints(again), ["shop: SQLite in eu and asia"])
        asked = self.gateway.call("GET", "/v1/interactions?state=all")["interactions"]
        self.assertEqual(len(asked), 1, "one key is one card")

    def test_sign_up_asks_for_an_address_until_it_is_good(self) -> None:
        running = self.start("sign_up", "signup-1")
        first = self.gateway.next_ask()
        # What is no address does not get through, and the prompt stays open.
        status, problem = self.gateway.respond(first, submit("Ana", "ana"), "1")
        self.assertEqual((status, problem["fieldErrors"]), (422, {"email": "must be an email address"}))
        # What only the program can judge is asked once more, with what was typed.
        self.assertEqual(self.gateway.respond(first, submit("Ana", "ana@example.org"), "2")[0], 200)
        second = self.gateway.next_ask()
        self.assertEqual(second["request"]["error"], "That did not work.")
        self.assertEqual(second["request"]["fieldErrors"], {"email": "is taken"})
        self.assertEqual(second["request"]["initialValues"], {"name": "Ana", "email": "ana@example.org"})
        self.assertEqual(self.gateway.respond(second, submit("Ana", "ana2@example.org"))[0], 200)
        self.assertEqual(self.prints(running), ["Ana signed up with ana2@example.org, attempt 2"])

    def test_notify_and_wait_has_the_answer_later(self) -> None:
        self.assertEqual(self.prints(self.start("notify_and_wait", "k")), ["pending: asked, and not answered yet"])
        ask = self.gateway.next_ask()
        self.assertEqual(self.gateway.respond(ask, {"action": "submit", "answers": {"answer": "Blue"}})[0], 200)
        [line] = self.prints(self.start("notify_and_wait", "k"))
        self.assertRegex(line, "^Blue, says ")


def submit(name: str, email: str) -> dict[str, object]:
    return {"action": "submit", "input": {"name": name, "email": email}}


if __name__ == "__main__":
    unittest.main()
