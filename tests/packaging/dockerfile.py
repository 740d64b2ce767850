"""Reads a Dockerfile: the instructions of each stage. Must not know what any of them is for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Stage:
    """One stage: what it starts from, and its other instructions as (word, rest)."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """What stands behind each instruction of one kind."""
        return [rest for each, rest in self.instructions if each == word]

    def one(self, word: str) -> str:
        """What stands behind the only instruction of one kind."""
        (rest,) = self.all(word)
        return rest

    def command(self, word: str) -> list[str]:
        """The words of an instruction in its exec form."""
        words: list[str] = json.loads(self.one(word).partition("CMD ")[2] if word == "HEALTHCHECK" else self.one(word))
        return words


def stages(path: Path) -> list[Stage]:
    """The stages of a Dockerfile, in its order."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(base, name))
        elif word:
            found[-1].instructions.append((word, rest))
    return found
