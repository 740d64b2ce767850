"""What every test needs: one way to search for counterexamples, and no setting of the developer's machine.

It must not know any module of the package.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
