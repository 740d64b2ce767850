"""A real server over HTTP on a workspace, and tokens for it. Must not know what it should answer."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, Self

from metagit_mcp.application.access import TokenWish
from tests import ready
from tests.interfaces.cli.fake_runs import environment
from tests.interfaces.http.calling import Caller
from tests.interfaces.mcp.live import until
from tests.scenarios.at_once import finished

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Desk

END_S: Final = 30.0
_ALL: Final = "schedule,work,tasks,groups"
_PLACE: Final = re.compile(r" at http://[^/]+?:(\d+)/ ")
_SECRET: Final = re.compile(r"^operator token, shown this once: (mgt_[\w-]{43})$", re.MULTILINE)


class Server:
    """A process that serves a workspace; what it says stands in `said`."""

    def __init__(
        self, root: Path, *flags: str, place: str = "127.0.0.1:0", clock: Path | None = None, **env: str
    ) -> None:
        self._said = root.with_name(f"{root.name}.{len(list(root.parent.glob('*.said')))}.said")
        words = ["serve", "--http", place, "--workspace", str(root), "--toolsets", _ALL, *flags]
        known = env if clock is None else {**env, "METAGIT_MCP_CLOCK": f"@{clock}"}
        with self._said.open("wb") as out:
            self.process = ready.Popen(
                [sys.executable, "-m", "metagit_mcp", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment(**known),
            )

    def __enter__(self) -> Self:
        try:
            until(lambda: _PLACE.search(self.said) is not None or self.process.poll() is not None)
            assert self.process.poll() is None, self.said
        except BaseException:
            self.process.kill()
            self.process.wait(END_S)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()

    @property
    def said(self) -> str:
        """All that it said so far."""
        return self._said.read_text(errors="replace")

    @property
    def port(self) -> int:
        """Where it listens."""
        found = _PLACE.findall(self.said)
        assert found, self.said
        # Where it is called by another name, where it listens is said last.
        return int(found[-1])

    @property
    def first_secret(self) -> str | None:
        """The operator token that it printed, if it did."""
        found = _SECRET.search(self.said)
        return None if found is None else found[1]

    def caller(self, secret: str | None = None) -> Caller:
        """Somebody who calls it."""
        return Caller(self.port, secret)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal; return its exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_S)
            raise


def issued(desk: Desk, role: str, subject: str = "", **wish: Any) -> tuple[str, str]:  # noqa: ANN401 - any field
    """Issue a token as the user of the machine does; return its secret and its id."""
    named: Any = {"subject": subject or role, "role": role, **wish}
    answer = finished(desk.application.access.issue(TokenWish(**named), "tester"))
    return answer.secret, answer.token.token_id


def revoke(desk: Desk, token_id: str) -> None:
    """Let a token be good no more."""
    finished(desk.application.access.revoke(token_id, "tester"))
