"""The way of one ask, with a gateway that is played and a clock that stands still."""

from __future__ import annotations

import unittest

from holdstead import Refused, Unreachable
from holdstead._steps import Came, Lost, Received, Send, Sleep, ask
from holdstead.generated import AskCall

CALL: AskCall = {"key": "k", "kind": "approval", "toolName": "t", "input": {}}
OPEN = {"state": "open", "sessionId": "s", "request": {"interactionId": "i"}}
SETTLED = {"state": "settled", "sessionId": "s", "settlement": "approved", "request": {"interactionId": "i"}}


def came(status: int, body: object = None, retry_after: float | None = None) -> Received:
    return Received(status, retry_after, body)


class Steps(unittest.TestCase):
    def play(self, answers: list[Came], wait: float | None = None, away: float = 60) -> tuple[object, list[object]]:
        """Does the steps with these answers. Sleeping, and waiting at the gateway, moves the clock."""
        now = 0.0
        done: list[object] = []
        steps = ask(CALL, wait, away, lambda: now, "http://x")
        queue = list(answers)
        try:
            step = next(steps)
            while True:
                done.append(step)
                if isinstance(step, Sleep):
                    now += step.seconds
                    step = steps.send(None)
                else:
                    answer = queue.pop(0) if len(queue) > 1 else queue[0]
                    if "wait=" in step.path and isinstance(answer, Received) and answer.body is OPEN:
                        now += float(step.path.split("wait=")[1].rstrip("s"))
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value, done

    def test_it_asks_and_looks_until_it_is_over(self) -> None:
        end, done = self.play([came(201, OPEN), came(200, OPEN), came(200, SETTLED)])
        self.assertEqual(end, SETTLED)
        self.assertEqual([step.method for step in done], ["POST", "GET", "GET"])

    def test_what_is_lost_or_too_much_is_sent_again_and_not_at_once(self) -> None:
        lost = Lost(ConnectionResetError("reset"))
        end, done = self.play([lost, came(503), came(429, None, 2.0), came(201, OPEN), lost, came(200, SETTLED)])
        self.assertEqual(end, SETTLED)
        sent = [step.method for step in done if isinstance(step, Send)]
        self.assertEqual(sent, ["POST", "POST", "POST", "POST", "GET", "GET"])
        sleeps = [step.seconds for step in done if isinstance(step, Sleep)]
        self.assertEqual(len(sleeps), 4)
        self.assertGreater(sleeps[2], 2.0, "as long as the gateway says, at least")
        self.assertTrue(all(seconds > 0 for seconds in sleeps))

    def test_it_gives_up_with_an_error_and_never_with_a_result(self) -> None:
        with self.assertRaises(Unreachable):
            self.play([Lost(OSError("refused"))], away=60)
        with self.assertRaises(Unreachable):
            self.play([came(201, OPEN), came(503)], wait=10, away=1000)
        with self.assertRaises(Refused):
            self.play([came(500, {"code": "internal", "detail": "It is in the log."})])

    def test_time_that_runs_out_here_leaves_the_ask_open(self) -> None:
        end, done = self.play([came(201, OPEN), came(200, OPEN)], wait=70)
        self.assertEqual(end, OPEN)
        waits = [step.path.split("wait=")[1] for step in done[1:]]
        self.assertEqual(waits, ["3s", "30s", "30s", "7s"])

    def test_whoever_waits_is_told_once_what_for_and_where_to_answer(self) -> None:
        with self.assertLogs("holdstead", "WARNING") as told:
            self.play([came(201, OPEN), came(200, OPEN), came(200, OPEN), came(200, SETTLED)])
        words = "Waiting for a person: t. Answer at http://x/sessions/s?ask=i or with: holdstead answer i"
        self.assertEqual([record.getMessage() for record in told.records], [words])
        with self.assertNoLogs("holdstead"):
            self.play([came(201, OPEN), came(200, SETTLED)])

    def test_an_ask_that_is_over_already_is_looked_at_all_the_same(self) -> None:
        end, done = self.play([came(201, SETTLED), came(200, SETTLED)])
        self.assertEqual([step.method for step in done], ["POST", "GET"])


if __name__ == "__main__":
    unittest.main()
