"""Who writes into the ledger holds its lock for just as long."""

from pathlib import Path

import pytest

from metagit_mcp.adapters import fault_points
from metagit_mcp.adapters.sqlite.one_writer import OneWriter


def test_an_interrupt_right_behind_the_lock_frees_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fault_points, "_armed", {"ledger.locked": interrupted})
    writer = OneWriter(str(root), 0)
    with pytest.raises(KeyboardInterrupt):
        writer.enter()
    monkeypatch.setattr(fault_points, "_armed", {})
    other = OneWriter(str(root), 0)
    with other.alone():
        pass
    other.close()
    writer.close()
