"""Files of agent hosts are changed where they really are, whole or not at all, and never behind another's back."""

from __future__ import annotations

import errno
import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters import host_files
from metagit_mcp.adapters.host_files import HostFileStore
from metagit_mcp.errors import HostFileInvalid, MetagitError, ReadOnlyWorkspace, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STORE = HostFileStore()


def revised(path: Path, new: bytes | None, mode: int = 0o644) -> bool:
    return STORE.revise(str(path), lambda _: new, mode=mode)


def refused(attempt: Callable[[], object], kind: type[MetagitError]) -> str:
    with pytest.raises(kind) as caught:
        attempt()
    return caught.value.message


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_read_whole_or_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00a\r\n")
    assert STORE.read(str(tmp_path / "a")) == b"\x00a\r\n"
    assert STORE.read(str(tmp_path / "b")) is None
    assert STORE.read(str(tmp_path / "no" / "b")) is None


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "is not a regular file but a folder"),
        (os.mkfifo, "is not a regular file but a pipe"),
        (lambda path: path.symlink_to("/dev/null"), "is not a regular file but a device"),
        (lambda path: path.symlink_to(path.name), "cannot be read: Too many levels of symbolic links"),
    ],
    ids=["folder", "pipe", "device", "loop"],
)
def test_what_is_no_file_is_refused_and_not_waited_for(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "a"
    make(path)
    expected = f"{os.path.realpath(path)} {why}."
    assert refused(lambda: STORE.read(str(path)), HostFileInvalid) == expected
    assert refused(lambda: revised(path, b"x"), HostFileInvalid) == expected
    assert names(tmp_path) == ["a"]


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert refused(lambda: STORE.read(str(tmp_path / "a" / "b")), HostFileInvalid) == (
        f"{tmp_path}/a/b cannot be read: Not a directory."
    )
    message = refused(lambda: revised(tmp_path / "a" / "b", b"x"), StoreUnavailable)
    assert message == f"{tmp_path}/a cannot be written: File exists."


def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "_LIMIT", 3)
    (tmp_path / "a").write_bytes(b"123")
    assert STORE.read(str(tmp_path / "a")) == b"123"
    (tmp_path / "a").write_bytes(b"1234")
    assert refused(lambda: STORE.read(str(tmp_path / "a")), HostFileInvalid) == f"{tmp_path}/a is larger than 3 bytes."


def test_a_file_is_made_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "x" / ".cursor" / "mcp.json"
    assert revised(path, None) is False
    assert names(tmp_path) == []
    assert revised(path, b"{}", mode=0o600) is True
    assert (path.read_bytes(), path.stat().st_mode & 0o777, names(path.parent)) == (b"{}", 0o600, ["mcp.json"])


def test_a_file_that_is_there_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    former = path.stat()
    assert revised(path, b"new") is True
    now = path.stat()
    assert (path.read_bytes(), now.st_mode, now.st_uid, now.st_gid) == (
        b"new",
        former.st_mode,
        former.st_uid,
        former.st_gid,
    )
    assert names(tmp_path) == ["a"]


def test_what_is_no_change_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"same")
    os.utime(path, ns=(5, 7))
    inode = path.stat().st_ino
    assert revised(path, b"same") is False
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (7, inode)
    assert revised(tmp_path / "b", None) is False


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "config.toml"
    real.parent.mkdir()
    real.write_bytes(b"old")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "link").symlink_to("../dotfiles/config.toml")
    (tmp_path / "folder").symlink_to("home")
    link = tmp_path / "folder" / "link"
    assert STORE.real(str(link)) == str(real)
    assert revised(link, b"new") is True
    assert (real.read_bytes(), link.is_symlink(), names(real.parent)) == (b"new", True, ["config.toml"])
    assert revised(link, None) is True
    assert (link.is_symlink(), names(real.parent)) == (True, [])
    # One that leads nowhere yet leads to the new file.
    assert revised(link, b"anew") is True
    assert (real.read_bytes(), link.is_symlink()) == (b"anew", True)


def test_what_others_wrote_meanwhile_is_read_again(tmp_path: Path) -> None:
    path, seen = tmp_path / "a", list[bytes | None]()
    others: list[bytes | None] = [b"one", b"two", None]

    def change(raw: bytes | None) -> bytes:
        seen.append(raw)
        if others:
            new = others.pop(0)
            path.unlink() if new is None else path.write_bytes(new)
        return b"ours"

    assert STORE.revise(str(path), change, mode=0o644) is True
    # The folder is there, so nobody is asked twice for nothing.
    assert seen == [None, b"one", b"two", None]
    assert path.read_bytes() == b"ours"


def test_who_is_always_too_late_gives_up(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def change(raw: bytes | None) -> bytes:
        path.write_bytes((raw or b"") + b"x")
        return b"ours"

    message = refused(lambda: STORE.revise(str(path), change, mode=0o644), StoreUnavailable)
    assert message == f"{path} is changed by another program all the time."
    assert path.read_bytes() == b"x" * 20


def test_whoever_refuses_changes_nothing(tmp_path: Path) -> None:
    def change(_: bytes | None) -> bytes:
        raise HostFileInvalid("no")

    (tmp_path / "a").write_bytes(b"old")
    assert refused(lambda: STORE.revise(str(tmp_path / "a"), change, mode=0o644), HostFileInvalid) == "no"
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"old", ["a"])


def test_of_many_changes_at_once_none_is_lost(tmp_path: Path) -> None:
    path = str(tmp_path / "a")

    def add(_: int) -> bool:
        return STORE.revise(path, lambda raw: b"%d" % (int(raw or b"0") + 1), mode=0o644)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(add, range(80)))
    assert (STORE.read(path), names(tmp_path)) == (b"80", ["a"])


# --- locks ---------------------------------------------------------------------------------------------------------


def test_one_who_holds_the_folder_is_waited_for_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "LOCK_SECONDS", 0.02)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        message = refused(lambda: revised(tmp_path / "a", b"x"), StoreUnavailable)
        assert (message, names(tmp_path)) == (f"{tmp_path} is locked by another process.", [])
    finally:
        os.close(fd)
    assert revised(tmp_path / "a", b"x") is True


def test_where_no_folder_can_be_locked_the_look_before_the_change_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert revised(tmp_path / "a", b"x") is True


def test_a_lock_that_fails_otherwise_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(fcntl, "flock", flock)
    message = refused(lambda: revised(tmp_path / "a", b"x"), StoreUnavailable)
    assert (message, names(tmp_path)) == (f"{tmp_path} cannot be written: Input/output error.", [])


# --- what may not be written ---------------------------------------------------------------------------------------


def test_a_file_that_this_user_may_not_write_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refused(lambda: revised(path, b"new"), ReadOnlyWorkspace) == f"{path} may not be written."
    assert refused(lambda: revised(path, None), ReadOnlyWorkspace) == f"{path} may not be written."
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("number", "kind", "why"),
    [
        (errno.EROFS, ReadOnlyWorkspace, "Read-only file system"),
        (errno.EACCES, ReadOnlyWorkspace, "Permission denied"),
        (errno.ENOSPC, StoreUnavailable, "No space left on device"),
    ],
)
def test_a_write_that_fails_leaves_the_former_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[MetagitError], why: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, "")

    path = tmp_path / "a"
    path.write_bytes(b"old")
    for name in ("replace", "unlink"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            message = refused(lambda: revised(path, b"new" if name == "replace" else None), kind)  # noqa: B023 - at once
        assert message == f"{path} cannot be written: {why}."
    assert path.read_bytes() == b"old"


def test_a_folder_that_goes_away_before_it_is_locked_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "makedirs", lambda *_, **__: None)
    message = refused(lambda: revised(tmp_path / "no" / "a", b"x"), StoreUnavailable)
    assert message == f"{tmp_path}/no cannot be written: No such file or directory."
