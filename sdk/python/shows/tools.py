"""Each example tool in Python, as a program of its own, played with a person's answers against the real gateway."""

from __future__ import annotations

import sys
import unittest

from tests import test_examples


def main() -> int:
    tests = unittest.defaultTestLoader.loadTestsFromModule(test_examples)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} of {tests.countTestCases()} tools in Python did what they promise")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
