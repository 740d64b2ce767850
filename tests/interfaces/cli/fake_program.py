"""The program as a process of its own, with a fake application or the real one: `python -m … CASE ARGUMENT...`.

It must not know what the tests expect of it.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from typing import Any

from metagit_mcp.errors import GraphNotFound
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.invocation import asleep
from metagit_mcp.interfaces.cli.main import main
from tests.interfaces.cli.fake_application import APPROVAL, SAMPLES, STANDING, FakeApplication
from tests.interfaces.mcp.fake_application import DECISION, NODE, next_answer

# Everything that a terminal might obey or rich might read as markup.
HOSTILE = "\x1b[31mred\x07 [bold]x[/] \u202eright\u2066 :smile: \x9b2J\nnext $(id) \"q\" 'p' 漢字 e\u0301"


def interrupt(_: object) -> object:
    os.kill(os.getpid(), signal.SIGINT)
    return SAMPLES["schedule.next"]


class Deaf:
    """What ends while it ends takes no notice of an interrupt."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def wait_deaf(_: object) -> object:
    Deaf()
    finished(asleep(60))
    return SAMPLES["schedule.next"]


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown-graph": {"schedule.next": GraphNotFound("No task graph is called x.", hint="Known: shop.", graph_id="x")},
    "broken": {"schedule.next": ValueError("the secret")},
    "echo": {"rules.approve": lambda _node, _graph, person, _digest: replace(APPROVAL, approved_by=person)},
    "named": {
        "work.review": lambda _node, _graph, by, _judged: replace(STANDING, by=by),
        "work.retry": lambda _node, _graph, by: replace(STANDING, by=by),
    },
    "interrupted": {"schedule.next": interrupt},
    "deaf": {"schedule.next": wait_deaf},
    "hostile": {
        "schedule.next": next_answer(replace(DECISION, title=HOSTILE)),
        "tasks.show": replace(NODE, title=HOSTILE),
    },
    "long": {"schedule.next": next_answer(*[replace(DECISION, title="x" * 150) for _ in range(2_000)])},
}

if __name__ == "__main__":
    case, *arguments = sys.argv[1:]
    sys.exit(main(arguments, None if case == "real" else FakeApplication(CASES[case]).invocation()))
