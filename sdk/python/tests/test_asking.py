"""Asking, against the real gateway."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest

from holdstead import (
    Answered,
    Approved,
    AsyncHoldstead,
    Cancelled,
    Declined,
    Denied,
    Expired,
    Holdstead,
    KeyReused,
    Pending,
    Refused,
    SecretGone,
    Unreachable,
    Withdrawn,
)
from tests.running import Gateway


class WithGateway(unittest.TestCase):
    gateway: Gateway

    @classmethod
    def setUpClass(cls) -> None:
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.stop)

    def setUp(self) -> None:
        # A caller of its own for each test, and so a session of its own.
        self.token = self.gateway.token(self.id())
        self.hold = Holdstead(self.gateway.url, self.token)


class Asking(WithGateway):
    def test_an_approval_brings_the_input_that_was_approved(self) -> None:
        person = self.gateway.answer({"action": "approve"})
        got = self.hold.approve("deploy", {"to": "production"}, key="a", reason="The tests pass.")
        self.assertEqual(got, Approved({"to": "production"}, False, got.by))
        [ask] = person.done()
        self.assertEqual(ask["request"]["toolName"], "deploy")
        self.assertEqual(ask["request"]["agentSays"], "The tests pass.")

    def test_an_edited_input_comes_back_edited_where_that_was_offered(self) -> None:
        self.gateway.answer({"action": "approve", "editedInput": {"to": "staging"}})
        got = self.hold.approve("deploy", {"to": "production"}, key="b", editable=True)
        self.assertEqual((got.input, got.edited), ({"to": "staging"}, True))

    def test_a_denial_brings_its_reason(self) -> None:
        self.gateway.answer({"action": "deny", "reason": "not on Friday"})
        got = self.hold.approve("deploy", {"to": "production"}, key="c")
        self.assertIsInstance(got, Denied)
        self.assertEqual(got.reason, "not on Friday")

    def test_no_result_is_true_or_false(self) -> None:
        for result in [Approved({}, False, "ana"), Denied(None, "ana"), Expired(), Pending("k", "i")]:
            with self.assertRaises(TypeError):
                bool(result)

    def test_questions_one_several_and_free_text(self) -> None:
        self.gateway.answer({"action": "submit", "answers": {"answer": "SQLite"}})
        one = self.hold.ask("Which store?", ["SQLite", {"label": "PostgreSQL", "description": "for teams"}], key="q1")
        self.assertEqual(one, Answered("SQLite", one.by))
        self.gateway.answer({"action": "submit", "answers": {"answer": ["a", "c"]}})
        several = self.hold.ask("Which?", ["a", "b", "c"], multi=True, key="q2")
        self.assertEqual(several.answer, ["a", "c"])
        self.gateway.answer({"action": "submit", "answers": {"answer": "a text of my own"}})
        self.assertEqual(self.hold.ask("Why?", key="q3").answer, "a text of my own")
        self.gateway.answer({"action": "submit", "answers": {"x": "1", "y": ["2"]}})
        asked = [
            {"id": "x", "header": "X", "question": "X?", "options": [{"label": "1"}]},
            {"id": "y", "header": "Y", "question": "Y?", "options": [{"label": "2"}], "multiSelect": True},
        ]
        self.assertEqual(self.hold.ask_all(asked, key="q4").answer, {"x": "1", "y": ["2"]})

    def test_a_form_by_fields_and_by_schema(self) -> None:
        self.gateway.answer({"action": "submit", "input": {"version": "1.4.0"}})
        fields = [{"id": "version", "label": "Version", "type": "text", "required": True}]
        self.assertEqual(self.hold.form("Release", fields, key="f1").answer, {"version": "1.4.0"})
        self.gateway.answer({"action": "submit", "input": {"age": 7}})
        schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
        self.assertEqual(self.hold.form("You", schema, key="f2").answer, {"age": 7})
        with self.assertRaises(Refused) as refused:
            self.hold.form("You", {"type": "object", "properties": {"a": {"type": "object"}}}, key="f3")
        self.assertIn("a form is flat", str(refused.exception))

    def test_declined_expired_and_cancelled_are_not_answers(self) -> None:
        self.gateway.answer({"action": "cancel", "reason": "none of your business"})
        declined = self.hold.ask("How old are you?", key="d")
        self.assertEqual(declined, Declined("none of your business", declined.by))
        self.assertEqual(self.hold.approve("deploy", {"n": 1}, key="e", timeout=0.3), Expired())
        pending = self.hold.ask("Still there?", key="z", wait=0)
        self.assertIsInstance(pending, Pending)
        [ask] = [ask for ask in self.gateway.open_asks() if ask["request"]["interactionId"] == pending.id]
        self.gateway.call("DELETE", f"/v1/sessions/{ask['sessionId']}")
        self.assertEqual(self.hold.ask("Still there?", key="z"), Cancelled())

    def test_an_ask_that_the_program_withdrew_is_not_answered(self) -> None:
        pending = self.hold.ask("Still needed?", key="w", wait=0)
        self.assertIsInstance(pending, Pending)
        status, _ = self.gateway.send("DELETE", f"/v1/interactions/{pending.id}", token=self.token)
        self.assertEqual(status, 200)
        self.assertEqual(self.hold.ask("Still needed?", key="w"), Withdrawn())

    def test_an_answer_that_came_too_late_is_there_for_who_looks_again(self) -> None:
        def ask() -> object:
            return self.hold.ask("Which store?", key="late", timeout=0.3)

        pending = self.hold.ask("Which store?", key="late", timeout=0.3, wait=0)
        self.assertIsInstance(pending, Pending)
        asked = self.gateway.call("GET", f"/v1/interactions/{pending.id}")
        self.assertEqual(ask(), Expired())
        status, receipt = self.gateway.respond(asked, {"action": "submit", "answers": {"answer": "SQLite"}})
        self.assertEqual((status, receipt["late"]), (200, True))
        found = ask()
        self.assertEqual(found, Expired(Answered("SQLite", found.late.by)))

    def test_the_same_key_is_the_same_ask_and_another_body_is_an_error(self) -> None:
        first = self.hold.approve("deploy", {"to": "production"}, key="k", wait=0)
        again = Holdstead(self.gateway.url, self.hold._place.token).approve(
            "deploy", {"to": "production"}, key="k", wait=0
        )
        self.assertEqual(first, again)
        with self.assertRaises(KeyReused):
            self.hold.approve("deploy", {"to": "staging"}, key="k")
        self.gateway.answer({"action": "approve"})
        self.assertIsInstance(self.hold.approve("deploy", {"to": "production"}, key="k"), Approved)
        # Asked again after the answer: the answer, and nobody is asked.
        self.assertIsInstance(self.hold.approve("deploy", {"to": "production"}, key="k", wait=0), Approved)

    def test_a_secret_is_handed_out_once(self) -> None:
        self.gateway.answer({"action": "submit", "answers": {"answer": "hunter2"}})
        self.assertEqual(self.hold.ask("The password?", secret=True, key="s").answer, "hunter2")
        with self.assertRaises(SecretGone):
            self.hold.ask("The password?", secret=True, key="s")

    def test_what_cannot_be_asked_is_refused_before_anybody_is_asked(self) -> None:
        with self.assertRaises(TypeError):
            self.hold.approve("deploy", {"to": object()}, key="x")
        with self.assertRaises(ValueError):
            self.hold.approve("deploy", {"to": float("nan")}, key="x")
        with self.assertRaises(ValueError):
            self.hold.approve("deploy", {}, key="")
        with self.assertRaises(Refused) as refused:
            Holdstead(self.gateway.url, "hs_wrong").ask("Who am I?", key="x")
        self.assertEqual(refused.exception.code, "unauthenticated")
        self.assertEqual(self.gateway.open_asks(), [ask for ask in self.gateway.open_asks() if ask["agent"] != "x"])


class Restarting(unittest.TestCase):
    def test_a_wait_outlives_a_killed_gateway_and_is_never_an_approval(self) -> None:
        with Gateway() as gateway:
            hold = Holdstead(gateway.url, gateway.token("ci"))
            both: dict[str, object] = {}

            async def other_face() -> None:
                both["async"] = await AsyncHoldstead(gateway.url, hold._place.token).approve("b", {"n": 2}, key="b")

            def waiting() -> None:
                both["sync"] = hold.approve("a", {"n": 1}, key="a")

            threads = [threading.Thread(target=waiting), threading.Thread(target=lambda: asyncio.run(other_face()))]
            for thread in threads:
                thread.start()
            while len(gateway.open_asks()) < 2:
                time.sleep(0.02)
            gateway.kill()
            time.sleep(0.5)
            self.assertEqual(both, {}, "no gateway, no answer")
            gateway.start()
            for ask in gateway.open_asks():
                gateway.respond(ask, {"action": "approve"})
            for thread in threads:
                thread.join(30)
            self.assertIsInstance(both["sync"], Approved)
            self.assertIsInstance(both["async"], Approved)

    def test_a_gateway_that_stays_away_is_an_error(self) -> None:
        with Gateway() as gateway:
            token = gateway.token("ci")
            gateway.kill()
            with self.assertRaises(Unreachable):
                Holdstead(gateway.url, token, away=0.3).approve("a", {"n": 1}, key="a")
            with self.assertRaises(Unreachable):
                Holdstead(gateway.url, token).approve("a", {"n": 1}, key="a", wait=0.3)


class ForAsyncio(WithGateway):
    def test_many_asks_wait_at_once(self) -> None:
        async def asked() -> list[object]:
            hold = AsyncHoldstead(self.gateway.url, self.hold._place.token)
            waits = [hold.ask(f"Number {n}?", key=f"n{n}") for n in range(40)]
            return await asyncio.gather(*waits)

        def answering() -> None:
            left = 40
            while left:
                for ask in self.gateway.open_asks():
                    words = ask["request"]["questions"][0]["question"]
                    left -= self.gateway.respond(ask, {"action": "submit", "answers": {"answer": words}})[0] == 200

        person = threading.Thread(target=answering)
        person.start()
        answers = asyncio.run(asked())
        person.join()
        self.assertEqual([got.answer for got in answers], [f"Number {n}?" for n in range(40)])

    def test_a_cancelled_wait_leaves_the_ask_open(self) -> None:
        async def left() -> None:
            hold = AsyncHoldstead(self.gateway.url, self.hold._place.token)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(hold.ask("Anybody?", key="left"), 0.5)

        asyncio.run(left())
        self.gateway.answer({"action": "submit", "answers": {"answer": "me"}})
        self.assertEqual(self.hold.ask("Anybody?", key="left").answer, "me")


if __name__ == "__main__":
    unittest.main()
