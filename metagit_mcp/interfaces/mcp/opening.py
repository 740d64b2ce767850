"""Opens the application at the first call that needs it. Must not know any tool, nor how the protocol is served."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from metagit_mcp.application.caller import Caller
from metagit_mcp.interfaces.mcp.offload import OneThread

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application


# Says who makes the request that is being answered; None: whoever started the process.
Identify = Callable[[], Caller | None]


def the_process() -> Caller | None:
    """Say that whoever started the process calls: the answer where there is one caller, and no network."""
    return None


class LateApplication:
    """Opens the application at the first call: `initialize` is answered without touching the disk."""

    def __init__(self, open_application: "Callable[[], Application]") -> None:
        self._open = open_application
        self._offload = OneThread()
        self._opening = asyncio.Lock()
        self._application: Application | None = None

    async def __call__(self, caller: Caller | None = None) -> "Application":
        """Return the application; with a caller, in its name.

        Raises:
            MetagitError: it cannot be opened; the next call tries again.
        """
        if self._application is None:
            async with self._opening:
                if self._application is None:
                    self._application = await self._offload(self._open)
        return self._application if caller is None else self._application.speaking_for(caller)

    @property
    def opened(self) -> "Application | None":
        """The application, once a call has opened it."""
        return self._application
