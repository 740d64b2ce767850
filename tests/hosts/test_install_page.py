"""Every line that the page on the plugin shows for a shell is run with the real clients, in its order.

Must not know: what the lines do. They install from this repository, in place of the one on the network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT
from tests.hosts.client import bounded
from tests.interop.peer import host

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Home

pytestmark = pytest.mark.hosts

PAGE = ROOT / "docs/how-to/install-the-plugin.md"
SECTIONS = ("Claude Code", "Codex")
SECONDS = 60


def lines(section: str) -> list[tuple[str, str]]:
    """The lines of a section's blocks, each with what it is said to print."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    shown = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    printed = dict(re.findall(r"`([^`\n]+)` prints `([^`\n]+)`", text))
    assert printed.keys() <= set(shown)
    return [(line, printed.get(line, "")) for line in shown]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", SECTIONS)
def test_every_line_runs_and_prints_what_the_page_says(home: Home, workspace: Path, section: str) -> None:
    for name in ("claude", "codex"):
        (home.programs / name).symlink_to(host(name))
    for line, printed in lines(section):
        command = ["/bin/sh", "-c", line.replace("OWNER/REPO", f"'{ROOT}'")]
        done = bounded(command, workspace, home.environ, "", SECONDS)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert printed in " ".join(done.stdout.split()), line


def test_the_page_installs_looks_and_removes() -> None:
    verbs = {
        section: [line.split()[2] for line, _ in lines(section) if "marketplace " not in line] for section in SECTIONS
    }

    assert verbs == {
        "Claude Code": ["install", "list", "details", "install", "uninstall"],
        "Codex": ["add", "list", "list", "remove"],
    }
