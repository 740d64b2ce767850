"""Where a server listens and under which names it is called. Opens nothing.

A browser sends a page of any site to a server on the loopback interface: only the names that stand here are answered
(DNS rebinding), also where the server listens on all interfaces.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from metagit_mcp.domain.text import shown
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - named here to be told apart
_LAST_PORT: Final = 65_535
_NETLOC: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:(?P<port>\d{1,5}))?", re.ASCII)
_USUAL_PORTS: Final = (":80", ":443")
_EXAMPLE: Final = "For example 127.0.0.1:8765; port 0 takes a free one."


@value
class Address:
    """Where to listen, and what callers may call it.

    `hosts` are further names of the server, as in the Host header; `origins` further pages that may call it from a
    browser. `public_url` is its URL for callers, where another program stands before it. `anonymous`: callers without
    a token are viewers.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    public_url: str = ""
    anonymous: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        return self.host in LOOPBACK

    @property
    def is_secure(self) -> bool:
        """Whether callers speak TLS, to the program before this one."""
        return self.public_url.startswith("https://")

    def listening(self, port: int) -> "Address":
        """Return the address with the port that was free."""
        return replace(self, port=port)

    @property
    def url(self) -> str:
        """The URL of the server, without a final slash."""
        if self.public_url:
            return self.public_url
        if self.host in _EVERYWHERE and self.hosts:
            name = self.hosts[0]
            return f"http://{name}:{self.port}" if _is_bare(name) else f"http://{name}"
        return self.own_url

    @property
    def own_url(self) -> str:
        """The URL by the place where it listens, whatever callers call it."""
        return f"http://{_bracketed(self.host)}:{self.port}"

    def names(self) -> frozenset[str]:
        """Return what may stand in a Host header; callers leave out the usual port."""
        # No page of another site has one of the loopback names.
        own = LOOPBACK if self.is_loopback or self.host in _EVERYWHERE else (self.host,)
        names = [f"{_bracketed(each)}:{self.port}" for each in own]
        names += [f"{each}:{self.port}" for each in self.hosts if _is_bare(each)]
        if self.public_url:
            names.append(urlsplit(self.public_url).netloc)
        known = {name.lower() for name in (*names, *self.hosts)}
        return frozenset(known | {name.rpartition(":")[0] for name in known if name.endswith(_USUAL_PORTS)})

    def pages(self) -> frozenset[str]:
        """Return what may stand in an Origin header."""
        return frozenset((*self._own_urls(), *(each.lower() for each in self.origins)))

    def is_for(self, audience: str) -> bool:
        """Say whether a token of this audience is for this server, by whichever of its names."""
        return not audience or audience.lower().removesuffix("/") in {self.url.lower(), *self._own_urls()}

    def _own_urls(self) -> list[str]:
        return [f"{scheme}://{name}" for name in sorted(self.names()) for scheme in ("http", "https")]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def read_address(
    given: str,
    *,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    public_url: str = "",
    anonymous: bool = False,
) -> Address:
    """Return where to listen, from HOST:PORT and the flags beside it.

    Raises:
        InvalidInput: there is no such place, or it would be open to more than was said.
    """
    host, port = _split(given)
    address = Address(
        host=host,
        port=port,
        hosts=tuple(_host(each) for each in hosts),
        origins=tuple(_origin(each, "allow_origin") for each in origins),
        public_url=_origin(public_url, "public_url") if public_url else "",
        anonymous=anonymous,
    )
    if anonymous and not address.is_loopback:
        raise InvalidInput(
            "--no-token is for the loopback interface alone",
            hint="Listen on 127.0.0.1, or use tokens.",
            field="no_token",
        )
    if not address.is_loopback and not address.hosts and not address.public_url:
        raise InvalidInput(
            f"{host} is reached by others: say under which names they call the server",
            hint="--allow-host NAME:PORT once for each name, or --public-url URL.",
            field="allow_host",
        )
    return address


def _split(given: str) -> tuple[str, int]:
    host, colon, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or not _is_netloc(_bracketed(host)):
        raise InvalidInput("--http must be HOST:PORT", hint=_EXAMPLE, field="http")
    # Python reads no number of any length.
    if len(port) > len(str(_LAST_PORT)) or int(port) > _LAST_PORT:
        raise InvalidInput(f"port {shown(port, 20)} is not one of 0 to {_LAST_PORT}", hint=_EXAMPLE, field="http")
    return host.lower(), int(port)


def _is_bare(name: str) -> bool:
    """Say whether a name has no port."""
    return not name.rpartition(":")[2].isdecimal() or name.endswith("]")


def _host(name: str) -> str:
    if not _is_netloc(name):
        raise InvalidInput(
            "--allow-host must be a host name, with its port unless that is the usual one",
            hint="For example build.example.org:8765.",
            field="allow_host",
        )
    return name


def _origin(url: str, field: str) -> str:
    scheme, _, rest = url.partition("://")
    netloc = rest.removesuffix("/")
    if scheme.lower() not in {"http", "https"} or not _is_netloc(netloc):
        flag = f"--{field.replace('_', '-')}"
        hint = "For example https://metagit.example.org."
        raise InvalidInput(f"{flag} must be the URL of a server, without a path", hint=hint, field=field)
    return f"{scheme}://{netloc}".lower()


def _is_netloc(text: str) -> bool:
    """Say whether this is a host name, with or without a port, and nothing else."""
    found = _NETLOC.fullmatch(text)
    return found is not None and int(found["port"] or 0) <= _LAST_PORT
