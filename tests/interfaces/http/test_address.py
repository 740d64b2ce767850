"""Where a server may listen, under which names, and for whom a token is."""

from __future__ import annotations

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.http.address import read_address


def test_on_loopback_all_its_names_are_known() -> None:
    address = read_address("LOCALHOST:8765")
    assert (address.host, address.url) == ("localhost", "http://localhost:8765")
    assert address.names() == {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    assert address.listening(9).names() == {"127.0.0.1:9", "localhost:9", "[::1]:9"}


def test_callers_leave_out_the_usual_port() -> None:
    """A browser sends `Host: localhost` to port 80, and the bare name to a proxy with TLS."""
    assert read_address("127.0.0.1:80").names() >= {"localhost", "localhost:80", "[::1]", "127.0.0.1"}
    behind = read_address("127.0.0.1:8765", public_url="https://Metagit.example.org:443/")
    assert behind.names() >= {"metagit.example.org", "metagit.example.org:443"}
    assert behind.pages() >= {"https://metagit.example.org"}
    assert (behind.url, behind.is_secure) == ("https://metagit.example.org:443", True)


@pytest.mark.parametrize(
    "place",
    [
        *("8765", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "http://127.0.0.1:1", "a b:1", "a@b:1"),
        *(":8765", "[]:1", "fe80::1%eth0:1", "\u00fc:1", "a\0:1", "a:8765:1x"),
    ],
)
def test_what_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(InvalidInput, match="--http must be HOST:PORT"):
        read_address(place)


@pytest.mark.parametrize(("port", "told"), [("65536", "65536"), ("99999", "99999"), ("9" * 5_000, "9" * 19 + "\u2026")])
def test_a_port_that_no_machine_has_is_named(port: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_address(f"127.0.0.1:{port}")
    assert refused.value.message == f"port {told} is not one of 0 to 65535"


@pytest.mark.parametrize(
    "name", ["", "*", "*.example.org", "a b", "http://a", "a/b", "x@a", "[", "[::1", "a:b", "a:70000"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="--allow-host must be a host name"):
        read_address("0.0.0.0:1", hosts=[name])


@pytest.mark.parametrize(
    "url",
    [
        "null",
        "*",
        "a.example",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://a?x",
        "https://a#x",
        "https://x@a",
        "http://[",
    ],
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="--allow-origin must be the URL of a server"):
        read_address("127.0.0.1:1", origins=[url])
    with pytest.raises(InvalidInput, match="--public-url must be the URL of a server"):
        read_address("127.0.0.1:1", public_url=url)


def test_a_token_is_for_a_server_by_any_of_its_names_and_by_no_other() -> None:
    address = read_address("0.0.0.0:8765", hosts=["build.example:8765"], origins=["https://page.example"])
    good = ("", "http://build.example:8765", "HTTPS://Build.example:8765/", "http://127.0.0.1:8765")
    assert [audience for audience in good if not address.is_for(audience)] == []
    foreign = ("https://build.example", "https://page.example", "https://build.example:8765.evil", "https://evil", "x")
    assert [audience for audience in foreign if address.is_for(audience)] == []


def test_a_name_without_a_port_is_good_with_the_one_that_the_server_has() -> None:
    address = read_address("0.0.0.0:8765", hosts=["build", "[2001:db8::1]", "other:9"])
    loopback = {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    named = {"build", "build:8765", "[2001:db8::1]", "[2001:db8::1]:8765", "other:9"}
    assert (set(address.names()), address.url) == (loopback | named, "http://build:8765")
    assert read_address("0.0.0.0:8765", hosts=["other:9"]).url == "http://other:9"
