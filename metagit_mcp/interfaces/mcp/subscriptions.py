"""Subscriptions to resources in both eras: `subscriptions/listen`, and `resources/subscribe` before 2026-07-28.

Who subscribes hears of what it may read, and of nothing else: what is not there, and what is not for it, is taken and
never told. Must not know what changes, nor how that is noticed. It uses public names of the SDK only.
"""

from collections.abc import Collection
from typing import Any, Final

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.news.topics import Topic, may_hear
from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.mcp.opening import Identify
from metagit_mcp.interfaces.mcp.telling import MOST_URIS, Stream, Telling
from metagit_mcp.interfaces.mcp.uris import topic_of

Context = ServerRequestContext[Any, Any]
_LISTS: Final = ("prompts", "resources", "tools")


class TellingServer(Server[Any]):
    """A server whose lists stay as they are while it runs, and whose subscriptions can be ended.

    The SDK takes any server with subscriptions for one that tells of changed lists.
    """

    telling: Telling | None = None

    def get_capabilities(self, *args: Any, **named: Any) -> types.ServerCapabilities:  # noqa: ANN401 - as the SDK has it
        """Return what the server can do."""
        found = super().get_capabilities(*args, **named)
        parts = {name: getattr(found, name) for name in _LISTS}
        fixed = {name: part.model_copy(update={"list_changed": False}) for name, part in parts.items() if part}
        return found.model_copy(update=fixed)

    def end_streams(self) -> None:
        """Let every subscription come to its end, before the connections are closed."""
        if self.telling is not None:
            self.telling.end()


class SubscriptionDesk:
    """Answers what is asked about subscriptions, and tells what changed."""

    def __init__(self, telling: Telling, identify: Identify, toolsets: Collection[str]) -> None:
        self._telling = telling
        self._identify = identify
        self._toolsets = toolsets
        # The connections of the eras with a handshake, by what each was opened with.
        self._connections: dict[int, Stream] = {}

    # --- since 2026-07-28 ------------------------------------------------------------------------------------------

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Say what will be told, and tell it until the client goes or the server ends."""
        uris = params.notifications.resource_subscriptions or ()
        _refuse_too_many(len(uris))
        stream = Stream(self._identify())
        stream.topics.update({uri: topic for uri in uris if (topic := self._topic(uri, stream.caller)) is not None})
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        try:
            async with self._telling.joined(stream):
                await _send(ctx, _acknowledged(stream, meta))
                async for uri in stream:
                    await _send(ctx, _updated(uri, meta))
        except MetagitError as error:
            raise _refused(error) from None
        return types.SubscriptionsListenResult(_meta=meta)

    # --- before ----------------------------------------------------------------------------------------------------

    async def connected(self, ctx: Context, _: types.NotificationParams | None) -> None:
        """Tell a connection what it subscribes to, from its handshake to its end.

        The SDK ends what a notification set going when the connection ends, however that comes about.
        """
        opened = ctx.session.client_params
        if opened is None or id(opened) in self._connections:
            return
        stream = self._connections[id(opened)] = Stream(self._identify())
        try:
            async for uri in stream:
                await ctx.session.send_resource_updated(uri)
        finally:
            self._telling.leave(stream)
            del self._connections[id(opened)]

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection of a resource too."""
        stream, caller = self._connection(ctx), self._identify()
        topic = self._topic(params.uri, caller)
        if topic is None or params.uri in stream.topics:
            return types.EmptyResult()
        _refuse_too_many(len(stream.topics) + 1)
        # A session is its opener's alone, which the transport sees to.
        stream.caller = caller
        stream.topics[params.uri] = topic
        try:
            await self._telling.join(stream)
        except BaseException as error:
            stream.forget(params.uri)
            if isinstance(error, MetagitError):
                raise _refused(error) from None
            raise
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection of a resource no more."""
        stream = self._connection(ctx)
        stream.forget(params.uri)
        if not stream.topics:
            self._telling.leave(stream)
        return types.EmptyResult()

    def _connection(self, ctx: Context) -> Stream:
        stream = self._connections.get(id(ctx.session.client_params))
        if stream is None:
            told = "Nothing can be told over this connection: it has no session, or said no notifications/initialized."
            raise MCPError(types.INVALID_REQUEST, told)
        return stream

    def _topic(self, uri: str, caller: Caller | None) -> Topic | None:
        topic = topic_of(uri, self._toolsets)
        return topic if topic is not None and may_hear(caller, topic) else None


def _acknowledged(stream: Stream, meta: dict[str, Any]) -> types.SubscriptionsAcknowledgedNotification:
    granted = types.SubscriptionFilter(resource_subscriptions=list(stream.topics) or None)
    params = types.SubscriptionsAcknowledgedNotificationParams(notifications=granted, _meta=meta)
    return types.SubscriptionsAcknowledgedNotification(params=params)


def _updated(uri: str, meta: dict[str, Any]) -> types.ResourceUpdatedNotification:
    return types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri, _meta=meta))


async def _send(ctx: Context, notification: types.ServerNotification) -> None:
    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)


def _refuse_too_many(uris: int) -> None:
    if uris > MOST_URIS:
        raise MCPError(types.INVALID_PARAMS, f"At most {MOST_URIS} resources can be subscribed to at a time.")


def _refused(error: MetagitError) -> MCPError:
    return MCPError(types.INTERNAL_ERROR, error.message, error.as_record())
