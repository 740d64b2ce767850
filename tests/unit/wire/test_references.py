"""A file that includes another, or says no more than to read it, is not told the same a second time."""

from __future__ import annotations

import pytest

from metagit_mcp.wire.host_files.references import refers_to


@pytest.mark.parametrize(
    "text",
    [
        "@AGENTS.md",
        "# Rules\n\n@AGENTS.md\n\nAnd be kind.\n",
        "Read @./AGENTS.md first, and be kind.",
        "See [AGENTS.md](AGENTS.md).",
        "# Claude\n<!-- kept short -->\nAll of it is in AGENTS.md.\n",
        "AGENTS.md",
        "[the rules](./AGENTS.md)\n",
    ],
)
def test_these_lead_to_the_other(text: str) -> None:
    assert refers_to(text, "AGENTS.md")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# AGENTS.md\n",
        "Be kind.\nSee AGENTS.md.\n",
        "`@AGENTS.md` would include it.\nBe kind.",
        "docs/AGENTS.md",
        "@docs/AGENTS.md",
        "me@AGENTS.md.example\nx",
        "See OLDAGENTS.md",
        "See AGENTS.mdx",
        "@agents.md",
    ],
)
def test_these_say_something_of_their_own(text: str) -> None:
    assert not refers_to(text, "AGENTS.md")
