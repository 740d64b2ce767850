"""A workspace in which agents work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interfaces.hooks.fixtures import Workshop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
