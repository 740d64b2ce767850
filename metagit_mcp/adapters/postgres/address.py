"""Where a PostgreSQL ledger is, and how it is named where anybody may read it: without user and password."""

from urllib.parse import parse_qs

from metagit_mcp.domain.text import shown


def public_name(url: str) -> str:
    """Return the address as hosts and database, and nothing else of it.

    The settings let only such an address through of which a user and password end at the one `@`. `urlsplit` takes
    brackets in a password for those of a host, and its error shows what stands in them.
    """
    place, _, query = url.partition("?")
    authority, _, database = place.partition("://")[2].partition("/")
    hosts = authority.rpartition("@")[2] or ",".join(parse_qs(query).get("host", []))
    return shown(f"postgresql://{hosts}/{database.strip('/')}")
