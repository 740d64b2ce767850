"""What the pages show of the files of agent hosts is what `config` prints: a paste and `--write` are the same."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest

from metagit_mcp.application.hosts.setup import HostSetup
from metagit_mcp.ports.hosts import HostFacts
from metagit_mcp.wire.host_files.hosts import HostWish
from metagit_mcp.wire.work_loop import IN_ONE_LINE
from tests.docs.pages import ROOT, Block, blocks
from tests.unit.application.test_host_setup import Files

HOW_TO, README = ROOT / "docs/how-to/connect-a-host.md", ROOT / "README.md"
URL = "https://metagit.example.org/mcp"
FACTS = HostFacts(
    project="/p",
    home="/h",
    config_home="/h/.config",
    codex_home="/h/.codex",
    is_mac=False,
    program=("metagit-mcp",),
    workspace="/p",
)
# In the order of the page.
SHOWN = [
    HostWish(host="claude-code"),
    HostWish(host="codex"),
    HostWish(host="cursor"),
    HostWish(host="vscode"),
    HostWish(host="claude-desktop", workspace="/path/to/workspace"),
    HostWish(host="agents-md"),
    HostWish(host="claude-code", url=URL),
    HostWish(host="codex", url=URL),
]
PARSERS = {"json": json.loads, "toml": tomllib.loads}


def printed(wish: HostWish) -> str:
    text = HostSetup(FACTS, Files()).answer(wish).files[0].text
    assert text is not None
    return text


def snippets(text: list[Block]) -> list[Block]:
    return [block for block in text if block.kind in {"json", "toml", "markdown"} and "metagit" in block.text]


def test_the_how_to_shows_what_the_command_prints() -> None:
    assert [block.text for block in snippets(list(blocks(HOW_TO)))] == [printed(wish) for wish in SHOWN]


def test_the_readme_shows_the_same_entries() -> None:
    known = [PARSERS[kind](printed(wish)) for wish in SHOWN for kind in [_kind(wish)] if kind in PARSERS]
    shown = [PARSERS[block.kind](block.text) for block in snippets(list(blocks(README)))]
    assert [each for each in shown if each not in known] == []
    assert IN_ONE_LINE.replace("`", "") in README.read_text(encoding="utf-8").replace("`", "")


def _kind(wish: HostWish) -> str:
    return {"codex": "toml", "agents-md": "markdown"}.get(wish.host, "json")


@pytest.mark.parametrize("page", [HOW_TO, README], ids=["how-to", "readme"])
@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_pages_show_the_hosts_own_commands(page: object, host: str) -> None:
    paste = HostSetup(FACTS, Files()).answer(replace(SHOWN[0], host=host)).paste  # type: ignore[arg-type]  # a host as a text
    text = (HOW_TO if page == HOW_TO else README).read_text(encoding="utf-8")
    assert f"`{paste}`" in text
