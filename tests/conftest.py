"""What every test needs: one way to search for counterexamples, and nothing left over from other tests or the machine.

Of the package it knows only which files stay open.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# `fast` tries the same examples each time, so that red stays red; `make test PROFILE=deep` searches anew.
settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "deep",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fast")

# Each of these would choose a workspace, or its operator, behind a test's back.
for name in [name for name in os.environ if name.startswith("METAGIT_")] + ["CLAUDE_PROJECT_DIR"]:
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def _no_ledger_stays_open() -> Iterator[None]:
    """Close the ledgers that a test opened: four descriptors each, and a thousand are too many for `select`.

    It patches by itself, so that it ends after whatever the test patched is as it was.
    """
    module = sys.modules.get("metagit_mcp.adapters.sqlite.store")
    if module is None:
        yield
        return
    opened: list[Any] = []
    make = module.SqliteEventStore.__init__

    def made(store: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - passed on as they are
        make(store, *arguments, **options)
        opened.append(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.SqliteEventStore, "__init__", made)
        yield
    for store in opened:
        store.close()
