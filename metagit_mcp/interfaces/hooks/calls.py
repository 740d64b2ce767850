"""Which event is asked about, and by which host: the arguments of the command. Knows no event's answer."""

from collections.abc import Sequence

# How long each may take before it ends without an answer: less than a host waits. The end of a session has 1.5 s.
EVENTS = {"session-start": 8.0, "stamp-agent": 4.0, "stop": 8.0, "teammate-idle": 8.0, "session-end": 0.8}
HOSTS = ("claude", "codex", "cursor")
_HOST = "--host"


class Call:
    """One event at one host."""

    __slots__ = ("event", "host")

    def __init__(self, event: str, host: str = HOSTS[0]) -> None:
        """Keep both, which are known words."""
        self.event = event
        self.host = host

    @property
    def seconds(self) -> float:
        """How long an answer may take."""
        return EVENTS[self.event]


def understood(arguments: Sequence[str]) -> Call | None:
    """Return the call that the arguments mean, or None: a plugin may be newer than the program."""
    words, hosts = list[str](), list[str]()
    left = iter(arguments)
    for word in left:
        if word == _HOST:
            hosts.append(next(left, ""))
        elif word.startswith(f"{_HOST}="):
            hosts.append(word.removeprefix(f"{_HOST}="))
        else:
            words.append(word)
    host = hosts[-1] if hosts else HOSTS[0]
    if len(words) != 1 or words[0] not in EVENTS or host not in HOSTS:
        return None
    return Call(words[0], host)
