"""Tells whoever subscribed that something changed: one look for all of them, and only while there is one.

It must not know the protocol: a stream gives out URIs, in whatever form they are sent on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING, Final

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.news.topics import Topic
from metagit_mcp.errors import CapacityExceeded, MetagitError
from metagit_mcp.interfaces.mcp.opening import LateApplication

if TYPE_CHECKING:
    from metagit_mcp.application.news.noticing import Noticing

# A change is told within a second of it.
_LOOK_EVERY_S: Final = 0.25
_MOST_STREAMS: Final = 1_024
_MOST_OF_ONE_CALLER: Final = 256
MOST_URIS: Final = 256

_log = logging.getLogger(__name__)


class Stream:
    """What one listener subscribed to, and what it is due to be told.

    What changes twice before it is told is told once, so that no more is ever due than was subscribed to.
    """

    def __init__(self, caller: Caller | None) -> None:
        self.caller = caller
        self.topics: dict[str, Topic] = {}
        self._due: dict[str, None] = {}
        self._happened = asyncio.Event()
        self._ended = False

    def tell(self, news: frozenset[Topic]) -> None:
        """Note what of the news is to be told."""
        for uri, topic in self.topics.items():
            if topic in news:
                self._due[uri] = None
                self._happened.set()

    def end(self) -> None:
        """Tell what is due, and then no more."""
        self._ended = True
        self._happened.set()

    def forget(self, uri: str) -> None:
        """Tell of a URI no more."""
        self.topics.pop(uri, None)
        self._due.pop(uri, None)

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the URIs of what changed, until the stream is ended."""
        while True:
            while self._due:
                uri = next(iter(self._due))
                del self._due[uri]
                yield uri
            if self._ended:
                return
            self._happened.clear()
            await self._happened.wait()


class Telling:
    """The streams of one server, and the one look for all of them."""

    def __init__(self, application: LateApplication) -> None:
        self._application = application
        self._streams: set[Stream] = set()
        self._looking: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None

    @property
    def listeners(self) -> int:
        """How many streams are told what changes."""
        return len(self._streams)

    async def join(self, stream: Stream) -> None:
        """Tell a stream what changes from here on.

        Raises:
            CapacityExceeded: there are too many.
            MetagitError: the workspace cannot be opened.
        """
        if stream not in self._streams:
            self._refuse_too_many(stream.caller)
            self._streams.add(stream)
        try:
            await asyncio.shield(self._begin())
        except BaseException:
            self.leave(stream)
            raise

    def leave(self, stream: Stream) -> None:
        """Tell a stream no more; without any nobody looks."""
        self._streams.discard(stream)
        if not self._streams and self._looking is not None:
            self._looking.cancel()
            self._looking = self._begun = None

    def end(self) -> None:
        """Let every stream come to its end."""
        for stream in self._streams:
            stream.end()

    def _refuse_too_many(self, caller: Caller | None) -> None:
        own = sum(each.caller == caller for each in self._streams)
        if len(self._streams) >= _MOST_STREAMS or own >= _MOST_OF_ONE_CALLER:
            hint = "End one, or subscribe to several resources over one stream."
            raise CapacityExceeded("There are too many subscriptions.", hint=hint)

    def _begin(self) -> "asyncio.Future[None]":
        if self._begun is None:
            loop = asyncio.get_running_loop()
            self._begun = loop.create_future()
            # Whoever subscribes first is not the one who looks: it must not be taken for the caller.
            self._looking = loop.create_task(self._look(self._begun), context=Context())
        return self._begun

    async def _look(self, begun: "asyncio.Future[None]") -> None:
        try:
            noticing = (await self._application()).noticing
            await noticing.begin()
        except Exception as error:  # noqa: BLE001 - whoever waits for the beginning is told
            if self._begun is begun:
                self._looking = self._begun = None
            begun.set_exception(error)
            return
        begun.set_result(None)
        said = ""
        while True:
            try:
                # Ends early when another host wrote.
                await noticing.pause(_LOOK_EVERY_S)
            except MetagitError:
                # The server ends.
                return
            try:
                self._tell(await noticing.news(), noticing)
            except Exception as error:  # noqa: BLE001 - the next look must not depend on this one
                if repr(error) != said:
                    said = repr(error)
                    _log.error("looking for changes failed", exc_info=error)

    def _tell(self, news: frozenset[Topic], noticing: "Noticing") -> None:
        for stream in self._streams:
            if not noticing.is_good(stream.caller):
                stream.end()
            elif news:
                stream.tell(news)

    @asynccontextmanager
    async def joined(self, stream: Stream) -> AsyncIterator[Stream]:
        """Tell a stream what changes during the block; one that subscribed to nothing costs nothing."""
        if stream.topics:
            await self.join(stream)
        try:
            yield stream
        finally:
            self.leave(stream)
