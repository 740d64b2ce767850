"""`python -m tests.soak.tokens WORKSPACE NAME=ROLE[:GROUP]…`: issues tokens in one process, and prints their secrets.

Sixty starts of `metagit-mcp token issue` would take longer than a short soak.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, cast

from metagit_mcp.application.access import TokenWish
from metagit_mcp.bootstrap import open_application
from metagit_mcp.settings import settings_from
from tests.scenarios.at_once import AT_ONCE

if TYPE_CHECKING:
    from metagit_mcp.domain.access import Role


async def issued(workspace: str, wishes: list[str]) -> dict[str, str]:
    access = open_application(settings_from(os.environ, workspace=workspace), surface="cli", waits=AT_ONCE).access
    secrets = {}
    for wish in wishes:
        subject, _, as_what = wish.partition("=")
        role, _, group = as_what.partition("@")
        answer = await access.issue(TokenWish(subject=subject, role=cast("Role", role), group_id=group), "soak")
        secrets[subject] = answer.secret
    return secrets


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(issued(sys.argv[1], sys.argv[2:]))))
