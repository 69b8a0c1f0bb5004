"""The gate before a function, against the real gateway."""

from __future__ import annotations

import asyncio
import unittest

from holdstead import AsyncHoldstead, Denied, EditRefused, Expired, NotApproved, Pending
from tests.test_asking import WithGateway


class Gates(WithGateway):
    def setUp(self) -> None:
        super().setUp()
        self.calls: list[object] = []

    def deploy(self) -> object:
        @self.hold.gate("deploy", reason="The tests pass.")
        def deploy(to: str, *services: str, force: bool = False) -> str:
            self.calls.append((to, services, force))
            return "done"

        return deploy

    def test_approved_it_is_called_with_its_own_arguments(self) -> None:
        person = self.gateway.answer({"action": "approve"})
        self.assertEqual(self.deploy()("production", "web"), "done")
        self.assertEqual(self.calls, [("production", ("web",), False)])
        [ask] = person.done()
        shown = {"to": "production", "services": ["web"], "force": False}
        self.assertEqual((ask["request"]["toolName"], ask["request"]["input"]), ("deploy", shown))

    def test_edited_it_is_called_with_what_the_person_made_of_them(self) -> None:
        edited = {"to": "staging", "services": ["web", "jobs"], "force": True}
        self.gateway.answer({"action": "approve", "editedInput": edited})
        self.deploy()("production")
        self.assertEqual(self.calls, [("staging", ("web", "jobs"), True)])

    def test_edited_into_something_else_it_is_not_called(self) -> None:
        self.gateway.answer({"action": "approve", "editedInput": {"to": "staging"}})
        with self.assertRaises(EditRefused):
            self.deploy()("production")
        self.assertEqual(self.calls, [])

    def test_denied_expired_or_left_open_it_is_not_called(self) -> None:
        self.gateway.answer({"action": "deny", "reason": "no"})
        with self.assertRaises(NotApproved) as denied:
            self.deploy()("production")
        self.assertEqual(denied.exception.result, Denied("no", denied.exception.result.by))

        @self.hold.gate(timeout=0.3)
        def expires(n: int) -> None:
            self.calls.append(n)

        with self.assertRaises(NotApproved) as expired:
            expires(1)
        self.assertEqual(expired.exception.result, Expired())

        @self.hold.gate(wait=0, key=lambda n: f"n-{n}")
        def waits(n: int) -> None:
            self.calls.append(n)

        for _ in range(2):
            with self.assertRaises(NotApproved) as left:
                waits(2)
        self.assertIsInstance(left.exception.result, Pending)
        self.assertEqual(self.calls, [])
        # The key made it one ask. Approved, the next call goes through.
        [ask] = [ask for ask in self.gateway.open_asks() if ask["request"]["toolName"] == "waits"]
        self.gateway.respond(ask, {"action": "approve"})
        waits(2)
        self.assertEqual(self.calls, [2])

    def test_what_cannot_be_shown_is_not_called(self) -> None:
        with self.assertRaises(TypeError):
            self.deploy()(object())
        self.assertEqual(self.calls, [])

    def test_a_coroutine_function_has_a_gate_of_its_own(self) -> None:
        hold = AsyncHoldstead(self.gateway.url, self.hold._place.token)

        @hold.gate("send")
        async def send(text: str) -> str:
            return f"sent {text}"

        self.gateway.answer({"action": "approve", "editedInput": {"text": "hello"}})
        self.assertEqual(asyncio.run(send("hullo")), "sent hello")
        with self.assertRaises(TypeError):
            self.hold.gate()(send)


if __name__ == "__main__":
    unittest.main()
