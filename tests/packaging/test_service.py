"""The systemd unit starts a command that exists, and leaves it little: its files, and the network.

Must not know: how the server is built.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metagit_mcp.interfaces.cli.serve import serve
from tests.packaging.conftest import ROOT

UNIT = ROOT / "packaging/metagit-mcp@.service"
PROGRAM = "/opt/metagit-mcp/bin/metagit-mcp"
# Every one of these takes something away from the process (systemd.exec).
HARDENED = {
    "ProtectSystem": "strict",
    "ProtectHome": "read-only",
    "ReadWritePaths": "%f/.metagit",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "PrivateUsers": "yes",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "AmbientCapabilities": "",
    "MemoryDenyWriteExecute": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native",
}


def settings() -> dict[str, list[str]]:
    """The settings of the unit, whatever their section, each with all its values."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_it_runs_as_somebody_who_can_do_little() -> None:
    found = settings()

    assert {name: found.get(name) for name in HARDENED} == {name: [value] for name, value in HARDENED.items()}
    assert found["User"] == ["metagit"]
    assert found["SystemCallFilter"] == ["@system-service", "~@privileged @resources"]


def test_its_command_is_one_of_the_program() -> None:
    (start,) = settings()["ExecStart"]
    program, command, *flags = shlex.split(start)
    known = {option for parameter in serve.params for option in parameter.opts}

    assert (program, command) == (PROGRAM, serve.name)
    assert [flag for flag in flags if flag.startswith("--") and flag not in known] == []
    assert set(re.findall(r"\$\{?(\w+)\}?", start)) == {"METAGIT_HTTP", "METAGIT_FLAGS"}


@pytest.mark.packaging
def test_systemd_takes_it(tmp_path: Path) -> None:
    # The program has to be there: it stands in for the installed one.
    program = str(Path(sys.executable).parent / "metagit-mcp")
    unit = tmp_path / "metagit-mcp@srv-shop.service"
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PROGRAM, program), encoding="utf-8")

    said = {
        action: _analyzed(*action.split(), str(unit)) for action in ("verify", "security --offline=true --threshold=20")
    }
    assert said == dict.fromkeys(said, (0, ""))


def _analyzed(*arguments: str) -> tuple[int, str]:
    """The exit code of systemd's own checker and its complaints; where there is no systemd there are none."""
    checker = shutil.which("systemd-analyze")
    if checker is None:
        return 0, ""
    done = subprocess.run([checker, *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr
