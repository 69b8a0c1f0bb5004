"""A function that runs only if a person says so. What was approved for the session is not asked again."""

from __future__ import annotations

import sys

from holdstead import Denied, Holdstead, NotApproved

hold = Holdstead()


@hold.gate("deploy", reason="The tests pass.", remember=True)
def deploy(to: str) -> str:
    return f"deployed to {to}"


def main(places: list[str]) -> None:
    for place in places:
        try:
            print(deploy(place))
        except NotApproved as stopped:
            match stopped.result:
                case Denied(reason=reason):
                    print(f"denied: {reason}")
                case other:
                    print(f"not approved: {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
