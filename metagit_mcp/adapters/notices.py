"""Remembers what went wrong beside the point, so that the next answer warns of it. Knows no file and no caller."""

from collections.abc import Iterator


class Notices:
    """One warning per topic; `version` grows when the warnings change."""

    def __init__(self) -> None:
        self.version = 0
        self._warnings: dict[str, str] = {}

    def put(self, topic: str, warning: str) -> None:
        """Warn of something from now on; an empty text ends the warning."""
        if self._warnings.get(topic, "") != warning:
            self._warnings[topic] = warning
            self.version += 1

    def __iter__(self) -> Iterator[str]:
        """Yield the warnings."""
        return iter([warning for warning in self._warnings.values() if warning])
