"""Makes text that other people wrote safe to show: one line, no control or direction marks. Knows no field names."""

import re
import unicodedata
from collections.abc import Collection, Iterable

_PLAIN = re.compile(r"[ -~]*\Z")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
LONGEST_ID = 255
ID_PATTERN = r"^[\w.-]+$"
AGENT_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:/@-]*$"
# The id of a node or Group of either kind: one that names a file, or one of a Group that is fed by Events.
ANY_ID_PATTERN = r"^(?:[\w.-]+|[A-Za-z0-9_][A-Za-z0-9_.:/@-]*)$"
_ID = re.compile(r"[\w.-]+\Z")
_NAME = re.compile(r"[\w.:/@+-]+\Z")


def shown(text: str, limit: int = 200) -> str:
    """Return `text` on one line without control, format or bidi characters, at most `limit` characters long.

    A cut is marked by a final ellipsis. (interfaces.md §3: free text in answers.)
    """
    if len(text) <= limit and _PLAIN.match(text):
        return text.strip()
    # Far more than can be shown is cut first: a text of megabytes is not looked through mark by mark.
    start = text[: 20 * limit]
    clean = (start if _PLAIN.match(start) else _visible(start)).strip()
    if len(clean) <= limit and len(start) == len(text):
        return clean
    return clean[: limit - 1].rstrip() + "…"


def _visible(text: str) -> str:
    kept = (" " if unicodedata.category(mark) in _HIDDEN else mark for mark in text)
    return " ".join("".join(kept).split())


def is_id(text: str) -> bool:
    """Say whether `text` may name a graph or node: fits ID_PATTERN, not `.` or `..`, at most 255 characters."""
    if len(text) > LONGEST_ID or text in {".", ".."} or not _ID.match(text):
        return False
    # Python takes `½` and `²` for word characters; other readers of the same pattern do not.
    return text.isascii() or all(unicodedata.category(mark) != "No" for mark in text)


def is_any_id(text: str) -> bool:
    """Say whether `text` may name a node or Group, be it of a file or of Events. It may hold slashes: it is no path."""
    return is_id(text) or is_agent_id(text)


def shown_id(text: str) -> str:
    """Return an id as it may stand in a reason; anything that is no id is named as such instead of quoted."""
    return text if is_any_id(text) else "(not a valid id)"


def shown_name(text: str) -> str:
    """Return a name that people chose as it may stand in a reason: one word, or named as no such instead of quoted."""
    return text if len(text) <= LONGEST_ID and _NAME.match(text) else "(not a plain name)"


def shown_or_none(text: str | None, limit: int = 200) -> str | None:
    """Return `text` as `shown` does, or None when nothing is left to show."""
    return (shown(text, limit) or None) if text else None


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like `word`; there must be one."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    return get_close_matches(word, list(known), n=1, cutoff=0.0)[0]


def close_words(word: str, known: Iterable[str], most: int = 1, closeness: float = 0.6) -> list[str]:
    """Return the known words that `word` may be a slip for, the likeliest first; none for a word that is unlike all."""
    from difflib import get_close_matches  # noqa: PLC0415 - as above

    return get_close_matches(word, list(known), n=most, cutoff=closeness)


def known_word(word: str, known: Collection[str]) -> str:
    """Return a word of a fixed vocabulary, or `unknown` for anything else that stands in its place."""
    return word if word in known else "unknown"


def is_agent_id(text: str) -> bool:
    """Say whether `text` may name an agent, at most 256 characters."""
    return len(text) <= LONGEST_ID + 1 and bool(re.match(AGENT_PATTERN + r"(?!\n)", text))


def agent_of_host(session: str, part: str = "") -> str | None:
    """Return the agent of a host's session, or of a part of it: `SESSION/PART`. None: the session can be no agent's id.

    A part that cannot stand in an id is told by its digest: as its session it would take that one's work for its own.
    """
    session, part = session.strip(), part.strip()
    if not is_agent_id(session):
        return None
    if not part:
        return session
    name = f"{session}/{part}"
    if not is_agent_id(name):
        from hashlib import sha256  # noqa: PLC0415 - hosts rarely name anything like this

        name = f"{session}/x-{sha256(part.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return name if is_agent_id(name) else None
