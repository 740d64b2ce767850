"""The states that the board's filter knows are those that the server says.

Must not know: a browser.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

from metagit_mcp.domain.tasks import GRAPH_STATUSES, STATUSES
from metagit_mcp.interfaces import board
from metagit_mcp.scheduling.eligibility import ReasonKind
from metagit_mcp.wire.board_answers import Became
from metagit_mcp.wire.board_cards import Act, RunningCard

SOURCE = (Path(board.__file__).parent / "filter.js").read_text(encoding="utf-8")


def words() -> dict[str, list[str]]:
    """What stands in the table of the filter."""
    [table] = re.findall(r"const WORDS = \{(.*?)\};", SOURCE, re.DOTALL)
    entries = re.findall(r'"([\w ]+)":((?:\s*"[^"]*"(?: \+)?)+),', table)
    return {about: "".join(re.findall(r'"([^"]*)"', texts)).split() for about, texts in entries}


def test_the_filter_knows_the_words_of_the_server() -> None:
    of_running = get_type_hints(RunningCard)

    assert {about: sorted(known) for about, known in words().items()} == {
        "the list": sorted(["person", "running", "lost", "paused", "queued", "held", "group", "decision"]),
        "work": sorted([*get_args(of_running["state"]), *get_args(of_running["proof"])]),
        "nodes": sorted(STATUSES),
        "Groups": sorted([*GRAPH_STATUSES, "invalid"]),
        "reasons": sorted(get_args(ReasonKind)),
        "offers": sorted(get_args(Act)),
        "decisions": sorted(get_args(Became)),
    }
