"""A workspace for each test of a recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.recipes.shop import opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return opened(tmp_path / "shop")
