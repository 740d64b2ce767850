"""The production server over HTTP with one tool more, `noop`; takes the arguments of the CLI.

It must change nothing else: guard, identity and the way of a call are the package's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metagit_mcp.interfaces.http import app
from tests.bench.noop_server import add_noop

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


def main() -> None:
    build = app.build_app

    def build_with_noop(server: Server[Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on untouched
        add_noop(server)
        return build(server, *arguments, **options)

    app.build_app = build_with_noop
    from metagit_mcp.__main__ import main as run  # noqa: PLC0415 - it must find the replaced function

    run()


if __name__ == "__main__":
    main()
