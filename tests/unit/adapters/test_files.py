"""Files are read only where they may be, and replaced whole or not at all.

The names of refused files are compared as a whole, so that no message can carry what stands in a file.
"""

import errno
import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from metagit_mcp.adapters import files
from metagit_mcp.adapters.files import FileImage, atomic_write, create_whole, make_folder, read_regular, write_all
from metagit_mcp.adapters.refusals import FileRefused, read_error, storage_error
from metagit_mcp.errors import ReadOnlyWorkspace, StoreUnavailable
from tests.unit.adapters import children

NAME = ".metagit/tasks/graphs/g1.json"


def refusal(path: Path, root: Path, limit: int = 1_000) -> tuple[str, str]:
    with pytest.raises(FileRefused) as caught:
        read_regular(path, root=root, limit=limit)
    error = caught.value
    assert error.as_record() == {
        "code": "STORE_UNAVAILABLE",
        "message": f"{error.name} {error.why}.",
        "hint": "",
        "details": {"file": error.name, "why": error.why},
        "retryable": False,
    }
    return error.name, error.why


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - names are what is compared


def test_a_file_is_read_with_its_signature(root: Path, graphs: Path) -> None:
    path = graphs / "g1.json"
    path.write_bytes(b"{\x00}\n")
    os.utime(path, ns=(5, 7))
    inode = path.stat().st_ino
    assert read_regular(path, root=root) == FileImage(b"{\x00}\n", (7, 4, inode))


@pytest.mark.parametrize("missing", ["g1.json", "no/folder/g1.json"])
def test_a_missing_file_is_none(root: Path, graphs: Path, missing: str) -> None:
    assert read_regular(graphs / missing, root=root) is None


def test_a_file_that_vanishes_before_it_is_opened_is_none(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (graphs / "g1.json").write_bytes(b"{}")
    found = (graphs / "g1.json").stat()
    monkeypatch.setattr(files, "locate", lambda *_, **__: (str(graphs / "gone.json"), found))
    assert read_regular(graphs / "g1.json", root=root) is None


def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(graphs / "g1.json")
    monkeypatch.setattr(files, "locate", lambda *_, **__: (str(graphs / "g1.json"), graphs.stat()))
    assert refusal(graphs / "g1.json", root) == (NAME, "is no longer a regular file")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link(target: str | Path) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path.mkdir, "is not a regular file but a folder"),
        (os.mkfifo, "is not a regular file but a pipe"),
        (make_socket, "is not a regular file but a socket"),
        (link("."), "is not a regular file but a folder"),
        (link("/dev/zero"), "is a link that leads out of the workspace"),
        (link("/etc/passwd"), "is a link that leads out of the workspace"),
        (link("../../../../outside.json"), "is a link that leads nowhere"),
        (link("nowhere.json"), "is a link that leads nowhere"),
        (link("g1.json"), "is a link that leads nowhere"),
        (lambda path: path.write_bytes(bytes(1_001)), "is larger than 1000 bytes"),
    ],
)
def test_what_is_no_plain_file_of_the_workspace_is_refused(
    root: Path, graphs: Path, make: Callable[[Path], object], why: str
) -> None:
    make(graphs / "g1.json")
    assert refusal(graphs / "g1.json", root) == (NAME, why)


def test_a_path_through_a_file_is_refused(root: Path, graphs: Path) -> None:
    (graphs / "g1.json").touch()
    assert refusal(graphs / "g1.json" / "x.json", root) == (f"{NAME}/x.json", "cannot be read: Not a directory")


def test_control_characters_of_a_name_are_not_shown(root: Path, graphs: Path) -> None:
    (graphs / "a\x1b[31m\nb.json").mkdir()
    name, _ = refusal(graphs / "a\x1b[31m\nb.json", root)
    assert name == ".metagit/tasks/graphs/a [31m b.json"


def test_a_link_inside_the_workspace_is_followed(root: Path, graphs: Path) -> None:
    (root / "kept.json").write_bytes(b"[]")
    (graphs / "g1.json").symlink_to("../../../kept.json")
    image = read_regular(graphs / "g1.json", root=root)
    assert image is not None
    assert image.raw == b"[]"


def test_a_linked_workspace_and_a_linked_folder_of_it_are_fine(root: Path, tmp_path: Path) -> None:
    (root / ".metagit").rename(root / "real")
    (root / ".metagit").symlink_to("real")
    (root / NAME).write_bytes(b"[]")
    (tmp_path / "workspace").symlink_to(root)
    image = read_regular(tmp_path / "workspace" / NAME, root=tmp_path / "workspace")
    assert image is not None
    assert image.raw == b"[]"


def test_a_folder_that_is_later_replaced_by_a_link_out_of_the_tree_is_refused(
    root: Path, graphs: Path, tmp_path: Path
) -> None:
    (tmp_path / "g1.json").write_bytes(b"SECRET")
    (graphs / "g1.json").write_bytes(b"{}")
    assert read_regular(graphs / "g1.json", root=root) is not None
    graphs.rename(root / "former")
    graphs.symlink_to(tmp_path)
    assert refusal(graphs / "g1.json", root) == (NAME, "leads out of the workspace")


def test_a_folder_beside_the_workspace_whose_name_starts_the_same_is_outside(root: Path, graphs: Path) -> None:
    beside = root.with_name(f"{root.name}-beside")
    beside.mkdir()
    try:
        (beside / "g1.json").write_bytes(b"SECRET")
        (graphs / "g1.json").symlink_to(beside / "g1.json")
        assert refusal(graphs / "g1.json", root) == (NAME, "is a link that leads out of the workspace")
    finally:
        shutil.rmtree(beside)


def test_an_unreadable_file_is_refused(root: Path, graphs: Path) -> None:
    (graphs / "g1.json").write_bytes(b"SECRET")
    (graphs / "g1.json").chmod(0)
    said = f"STORE_UNAVAILABLE {NAME} cannot be read: Permission denied."
    assert children.run("read_as_nobody", root, graphs / "g1.json") == (0, said, "")


@pytest.mark.parametrize(
    ("size", "limit", "expected"), [(2, 100, b"12345"), (9, 100, b"12345"), (2, 4, None), (6, 5, None)]
)
def test_the_content_counts_and_not_the_size_it_had(
    tmp_path: Path, size: int, limit: int, expected: bytes | None
) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        assert files._read_whole(fd, size, limit) == expected  # noqa: SLF001 - a race that no test can bring about
    finally:
        os.close(fd)


@pytest.mark.parametrize("step", ["open", "read"])
def test_a_disk_that_fails_costs_only_the_file(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (graphs / "g1.json").write_bytes(b"SECRET")

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(os, step, broken)
    assert refusal(graphs / "g1.json", root) == (NAME, "cannot be read: Input/output error")


def test_a_shortage_of_descriptors_is_not_the_fault_of_the_file() -> None:
    error = read_error(OSError(errno.EMFILE, ""), "g1.json")
    assert type(error) is StoreUnavailable
    assert error.retryable


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EROFS, ReadOnlyWorkspace),
        (errno.EACCES, ReadOnlyWorkspace),
        (errno.EPERM, ReadOnlyWorkspace),
        (errno.ENOSPC, StoreUnavailable),
        (errno.EDQUOT, StoreUnavailable),
        (errno.EIO, StoreUnavailable),
    ],
)
def test_a_failed_write_says_what_it_means(number: int, kind: type[Exception]) -> None:
    error = storage_error(OSError(number, ""), "g1.json")
    assert type(error) is kind
    assert error.message == f"g1.json cannot be written: {os.strerror(number)}."
    assert ("Make room on the disk" in error.hint) == (number in {errno.ENOSPC, errno.EDQUOT})


def test_a_new_file_is_written_for_its_owner_only(root: Path, graphs: Path) -> None:
    atomic_write(graphs / "g1.json", b"new", root=root, kind="graph")
    assert (graphs / "g1.json").read_bytes() == b"new"
    assert stat.S_IMODE((graphs / "g1.json").stat().st_mode) == 0o600
    assert listing(graphs) == ["g1.json"]


def test_a_replaced_file_keeps_its_mode_and_owner(root: Path, graphs: Path) -> None:
    path = graphs / "g1.json"
    path.write_bytes(b"old")
    path.chmod(0o664)
    owner = (65534, 65534) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    atomic_write(path, b"new", root=root, kind="graph")
    found = path.stat()
    assert (path.read_bytes(), stat.S_IMODE(found.st_mode)) == (b"new", 0o664)
    assert (found.st_uid, found.st_gid) == owner


def test_the_target_of_a_link_is_replaced_and_the_link_stays(root: Path, graphs: Path) -> None:
    (root / "kept.json").write_bytes(b"old")
    (graphs / "g1.json").symlink_to("../../../kept.json")
    atomic_write(graphs / "g1.json", b"new", root=root, kind="graph")
    assert (graphs / "g1.json").is_symlink()
    assert (root / "kept.json").read_bytes() == b"new"


def test_nothing_is_written_through_a_link_out_of_the_tree(root: Path, graphs: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(b"old")
    (graphs / "g1.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(FileRefused):
        atomic_write(graphs / "g1.json", b"new", root=root, kind="graph")
    assert (tmp_path / "other.json").read_bytes() == b"old"


def test_a_name_as_long_as_names_may_be_is_written(root: Path, graphs: Path) -> None:
    path = graphs / ("g" * 250 + ".json")
    atomic_write(path, b"new", root=root, kind="graph")
    assert path.read_bytes() == b"new"


def test_the_content_is_on_the_disk_before_it_gets_its_name(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, os.replace

    def fsync(fd: int) -> None:
        steps.append("sync the folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync the file")
        sync(fd)

    def replace(source: str, target: str) -> None:
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    atomic_write(graphs / "g1.json", b"new", root=root, kind="graph")
    assert steps == ["sync the file", "rename", "sync the folder"]


def test_a_full_disk_leaves_the_former_file_and_nothing_else(root: Path, graphs: Path) -> None:
    (graphs / "g1.json").write_bytes(b"old")
    said = f"STORE_UNAVAILABLE {NAME} cannot be written: File too large."
    assert children.run("write_limited", root, graphs / "g1.json", "graph", "4096", "10000") == (0, said, "")
    assert (graphs / "g1.json").read_bytes() == b"old"
    assert listing(graphs) == ["g1.json", "g1.json.lock"]


def test_a_device_without_space_says_so() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            write_all(fd, b"x")
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("graph", f"{NAME}.lock"), ("policy", NAME), ("decisions", NAME)],
)
def test_a_read_only_workspace_is_named_as_such(root: Path, graphs: Path, kind: str, name: str) -> None:
    (graphs / "g1.json").write_bytes(b"old\n")
    graphs.chmod(0o555)
    (graphs / "g1.json").chmod(0o444)
    said = f"READ_ONLY {name} cannot be written: Permission denied."
    assert children.run("write_as_nobody", root, graphs / "g1.json", kind) == (0, said, "")
    graphs.chmod(0o755)
    assert (graphs / "g1.json").read_bytes() == b"old\n"
    assert listing(graphs) == ["g1.json"]


def test_a_write_into_a_missing_folder_fails_cleanly(root: Path, graphs: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        atomic_write(graphs / "no" / "g1.json", b"new", root=root, kind="graph")
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        create_whole(graphs / "no" / "g1.json", b"new", root=root)


@pytest.mark.parametrize(("number", "survives"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_only_a_file_system_that_cannot_sync_a_folder_is_excused(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, survives: bool
) -> None:
    sync = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, "")
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    try:
        atomic_write(graphs / "g1.json", b"new", root=root, kind="graph")
    except StoreUnavailable:
        assert not survives
    else:
        assert survives


def test_create_whole_leaves_what_is_there(root: Path, graphs: Path) -> None:
    create_whole(graphs / "g1.json", b"first", root=root, mode=0o640)
    create_whole(graphs / "g1.json", b"second", root=root)
    assert (graphs / "g1.json").read_bytes() == b"first"
    assert stat.S_IMODE((graphs / "g1.json").stat().st_mode) == 0o640
    assert listing(graphs) == ["g1.json"]


@pytest.mark.parametrize(("number", "expected"), [(errno.EPERM, b"mine"), (errno.EEXIST, b"theirs"), (errno.EIO, None)])
def test_create_whole_without_hard_links_or_against_a_faster_creator(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: bytes | None
) -> None:
    def no_link(_temp: str, target: str) -> None:
        if number == errno.EEXIST:
            Path(target).write_bytes(b"theirs")
        raise OSError(number, "")

    monkeypatch.setattr(os, "link", no_link)
    if expected is None:
        with pytest.raises(StoreUnavailable):
            create_whole(graphs / "g1.json", b"mine", root=root)
        assert listing(graphs) == []
    else:
        create_whole(graphs / "g1.json", b"mine", root=root)
        assert (graphs / "g1.json").read_bytes() == expected
        assert listing(graphs) == ["g1.json"]


def test_make_folder_makes_it_once_and_says_why_it_cannot(root: Path) -> None:
    make_folder(root / "a" / "b", root=root)
    make_folder(root / "a" / "b", root=root)
    assert (root / "a" / "b").is_dir()
    (root / "file").touch()
    with pytest.raises(StoreUnavailable) as caught:
        make_folder(root / "file" / "b", root=root)
    assert caught.value.details == {"file": "file/b"}
