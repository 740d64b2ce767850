"""Sets agent hosts up: what is to be pasted, and what write, check and remove mean for our part of a file.

It must not know where files lie, nor what stands in them around our part.
"""

from collections.abc import Iterator
from typing import Final

from metagit_mcp.application.hosts.places import INSTRUCTIONS, connection_of, is_shared, paths_of
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import HostFileInvalid
from metagit_mcp.ports.hosts import HostFacts, HostFiles
from metagit_mcp.wire.host_files.host_entries import (
    FORMATS,
    NAME,
    PROGRAM,
    Connection,
    entry_of,
    is_ours,
    is_same,
    paste_of,
)
from metagit_mcp.wire.host_files.hosts import TITLES, HostAnswer, HostFile, HostState, HostWish
from metagit_mcp.wire.host_files.references import refers_to
from metagit_mcp.wire.host_files.texts import EntryReading, Misfit, decoded
from metagit_mcp.wire.work_loop import in_instructions

_SHARED_MODE: Final = 0o644
_PRIVATE_MODE: Final = 0o600
_FIRST_TURN: Final = (
    "Codex waits a second for its servers and then begins without their tools; with "
    "mcp_optional_startup_grace_ms = 0 at the top of its file it waits until they are there."
)
_MEND: Final = "Mend it there; nothing was changed."


class HostSetup:
    """The set-up of agent hosts on this machine."""

    def __init__(self, facts: HostFacts, files: HostFiles) -> None:
        """Read nothing yet."""
        self._facts, self._files = facts, files

    def answer(self, wish: HostWish) -> HostAnswer:
        """Do what is wished, and say how each file stands.

        Raises:
            InvalidInput: the wish does not fit the host.
            WorkspaceNotFound: the host has to be told a workspace, and there is none.
            HostFileInvalid, ReadOnlyWorkspace, StoreUnavailable: a file cannot be used; it stays as it is.
        """
        part = _Part(wish, self._facts)
        paths, passed = self._chosen(wish, part)
        standing = [part.state(path, self._files.read(path)) for path in paths]
        if wish.action in {"write", "remove"}:
            files = tuple(self._revised(wish, part, path) for path in paths)
        else:
            text = part.fresh() if wish.action == "show" else None
            rows = zip(paths, standing, strict=True)
            files = tuple(HostFile(path=path, state=state, changed=False, text=text) for path, state in rows)
        return HostAnswer(
            host=wish.host,
            action=wish.action,
            files=files,
            paste=part.paste if wish.action == "show" else None,
            warnings=(*passed, *part.warnings(self._facts)),
            next_step=_next_step(wish, files),
        )

    def _revised(self, wish: HostWish, part: "_Part", path: str) -> HostFile:
        change = _Change(part, path, wish)
        mode = _SHARED_MODE if is_shared(wish, self._facts, path) else _PRIVATE_MODE
        changed = self._files.revise(path, change, mode=mode)
        return HostFile(path=path, state=change.state, changed=changed)

    def _chosen(self, wish: HostWish, part: "_Part") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the files that are meant, and why one of two is not: it leads to the other."""
        paths = paths_of(wish, self._facts)
        if len(paths) == 1:
            return paths, ()
        first, second = paths
        if self._files.real(first) == self._files.real(second):
            return (first,), (f"{INSTRUCTIONS[1]} is {INSTRUCTIONS[0]}.",)
        for path, name, kept, other in ((second, *reversed(INSTRUCTIONS), first), (first, *INSTRUCTIONS, second)):
            text = _text(path, self._files.read(path))
            if refers_to(text, kept) and part.reading(path, text).entry is None:
                return (other,), (f"{name} leads to {kept}, so {kept} alone is looked at.",)
        return paths, ()


class _Part:
    """Our part of a host's file: what it should be, and how what is there differs from it."""

    def __init__(self, wish: HostWish, facts: HostFacts) -> None:
        self.host, self.format = wish.host, FORMATS[wish.host]
        # What is taken out is whatever is ours, however it reaches the server.
        by = Connection() if wish.action == "remove" else connection_of(wish, facts)
        is_text = wish.host == "agents-md"
        self.wanted = in_instructions() if is_text else entry_of(wish.host, by)
        self.paste = paste_of(wish.host, by)
        self._command = PROGRAM if is_text or by.url else by.program[0]
        self._names_folder = by.workspace is not None and by.workspace.startswith("$")
        self._wish = wish

    def state(self, path: str, raw: bytes | None) -> HostState:
        """Return how the file stands."""
        with_entry = self.reading(path, _text(path, raw))
        if with_entry.entry is None:
            return "missing"
        ours = self.host == "agents-md" or is_ours(self.host, with_entry.entry)
        if with_entry.touched or not ours:
            return "altered"
        return "current" if is_same(with_entry.entry, self.wanted) else "outdated"

    def reading(self, path: str, text: str) -> EntryReading:
        """Return what a text holds.

        Raises:
            HostFileInvalid: it cannot be read.
        """
        try:
            return self.format.read(text)
        except Misfit as error:
            raise _invalid(path, error) from None

    def fresh(self) -> str:
        """Return a file with nothing but our part."""
        return self.format.fresh(self.wanted)

    def warnings(self, facts: HostFacts) -> Iterator[str]:
        """Yield what has to be known before the host finds the server."""
        if self._wish.action not in {"show", "write"}:
            return
        if self._command != PROGRAM:
            yield f"A shell does not find {PROGRAM}, so the file names {shown(self._command)} of this machine."
        if self._names_folder and facts.workspace is None:
            yield f"There is no workspace here yet; make one with: {PROGRAM} init"
        if self._wish.everywhere is False:
            yield "Codex reads this file in projects that are trusted."
        if self._wish.host == "codex" and self._wish.url is None:
            yield _FIRST_TURN
        if self._wish.url is not None:
            yield "The host needs METAGIT_TOKEN in its environment."


class _Change:
    """Turns the content of a file into what is wished, and remembers how it stands then."""

    def __init__(self, part: _Part, path: str, wish: HostWish) -> None:
        self._part, self._path, self._wish = part, path, wish
        self.state: HostState = "missing"

    def __call__(self, raw: bytes | None) -> bytes | None:
        self.state = self._part.state(self._path, raw)
        to_write = self._wish.action == "write"
        if self.state == ("current" if to_write else "missing") or (self.state == "altered" and not self._wish.force):
            return raw
        try:
            changed = self._written(raw) if to_write else self._taken_out(raw or b"")
        except Misfit as error:
            raise _invalid(self._path, error) from None
        self.state = "current" if to_write else "missing"
        return changed

    def _written(self, raw: bytes | None) -> bytes:
        if raw is None:
            return self._part.fresh().encode()
        mark, text = decoded(raw)
        return (mark + self._part.format.put(text, self._part.wanted)).encode()

    def _taken_out(self, raw: bytes) -> bytes | None:
        mark, text = decoded(raw)
        left = self._part.format.taken_out(text)
        return None if left is None and not mark else (mark + (left or "")).encode()


def _text(path: str, raw: bytes | None) -> str:
    try:
        return "" if raw is None else decoded(raw)[1]
    except Misfit as error:
        raise _invalid(path, error) from None


def _invalid(path: str, error: Misfit) -> HostFileInvalid:
    where = f" at line {error.line} column {error.column}" if error.line else ""
    place = {"line": error.line, "column": error.column} if error.line else {}
    return HostFileInvalid(f"{shown(path)} {error.what}{where}.", hint=_MEND, file=path, **place)


def _next_step(wish: HostWish, files: tuple[HostFile, ...]) -> str:
    states, command = {each.state for each in files}, f"{PROGRAM} config {wish.host}"
    if wish.action == "show":
        return f"{command} --write puts it there, and leaves all else in the file as it is."
    if "altered" in states:
        what = "block" if wish.host == "agents-md" else f"entry {NAME}"
        way = f"{command} --write --force replaces it, {command} --remove --force takes it out."
        return f"The {what} was changed by hand and stays as it is: {way}"
    if wish.action == "remove":
        return "" if wish.host == "agents-md" else f"Start {TITLES[wish.host]} anew."
    if states != {"current"}:
        return f"Write it with the same options: {command} --write"
    return "" if wish.action == "check" or wish.host == "agents-md" else f"Start {TITLES[wish.host]} anew."
