"""Locks are respected both ways with tools that know only flock(2), and no wait is without end."""

import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metagit_mcp.adapters.fault_points import FILE_POINTS, arm_fault, die_at, fault
from metagit_mcp.adapters.files import atomic_write
from metagit_mcp.adapters.locks import locked, locked_in_place
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.errors import StoreUnavailable
from tests.unit.adapters import child, children

LOCK = ".metagit/tasks/graphs/g1.json.lock"


@contextmanager
def foreign_holder(root: Path, path: Path) -> Iterator[None]:
    """Another process that holds the flock on `path`; the end of the block ends it."""
    holder = children.start("hold", root, path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        assert children.finish(holder) == (0, "done", "")


def test_a_lock_held_by_another_tool_is_waited_for_and_named(root: Path, graphs: Path) -> None:
    with foreign_holder(root, graphs / "g1.json.lock"):
        with (
            pytest.raises(StoreUnavailable) as caught,
            locked(graphs / "g1.json", root=root, kind="graph", timeout=0.01),
        ):
            pass
        assert caught.value.as_record() == {
            "code": "STORE_UNAVAILABLE",
            "message": f"{LOCK} is locked by another process.",
            "hint": "Try again.",
            "details": {"lock": LOCK},
            "retryable": True,
        }
    with locked(graphs / "g1.json", root=root, kind="graph", timeout=0):
        pass


def test_a_wait_ends_when_the_other_holder_is_killed(root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = children.start("hold", root, graphs / "g1.json.lock")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    def sleep(_seconds: float) -> None:
        holder.kill()
        # With a timeout this would call `sleep` itself.
        holder.wait()

    monkeypatch.setattr("time.sleep", sleep)
    with locked(graphs / "g1.json", root=root, kind="graph", timeout=30):
        pass
    assert children.finish(holder) == (-signal.SIGKILL, "", "")


def test_other_tools_wait_for_our_lock(root: Path, graphs: Path, schedule: Path) -> None:
    with locked(graphs / "g1.json", root=root, kind="graph"):
        assert children.run("peek", root, graphs / "g1.json.lock") == (0, "busy", "")
    assert children.run("peek", root, graphs / "g1.json.lock") == (0, "done", "")
    with locked_in_place(schedule / "policy.json", root=root, kind="policy"):
        assert children.run("peek", root, schedule / "policy.json") == (0, "busy", "")
    assert children.run("peek", root, schedule / "policy.json") == (0, "done", "")


def test_the_lock_ends_when_the_work_under_it_fails(root: Path, graphs: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), locked(graphs / "g1.json", root=root, kind="graph", timeout=0):
            raise KeyError


def test_a_lock_file_can_be_locked_by_every_user_and_a_policy_is_private(
    root: Path, graphs: Path, schedule: Path
) -> None:
    with (
        locked(graphs / "g1.json", root=root, kind="graph"),
        locked_in_place(schedule / "policy.json", root=root, kind="policy", first=b"{}"),
    ):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (root / LOCK, schedule / "policy.json")]
    assert modes == [0o644, 0o600]
    assert (schedule / "policy.json").read_bytes() == b"{}"


def test_the_first_content_never_replaces_what_is_there(root: Path, schedule: Path) -> None:
    (schedule / "policy.json").write_bytes(b"[1]")
    with locked_in_place(schedule / "policy.json", root=root, kind="policy", first=b"{}"):
        assert (schedule / "policy.json").read_bytes() == b"[1]"


def test_a_lock_on_a_file_that_was_replaced_or_deleted_meanwhile_is_taken_anew(
    root: Path, schedule: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = schedule / "policy.json"
    path.write_bytes(b"old")
    steps = iter([lambda: atomic_write(path, b"new", root=root, kind="policy"), path.unlink])
    flock = fcntl.flock

    def late_flock(fd: int, operation: int) -> None:
        next(steps, lambda: None)()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", late_flock)
    with locked_in_place(path, root=root, kind="policy", timeout=30) as fd:
        assert os.path.samestat(os.fstat(fd), path.stat())
    assert path.read_bytes() == b""


def test_a_lock_that_leads_out_of_the_tree_is_refused(root: Path, graphs: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (root / LOCK).symlink_to(tmp_path / "lock")
    with pytest.raises(FileRefused), locked(graphs / "g1.json", root=root, kind="graph"):
        pass


def test_a_file_system_without_locks_is_named(root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_lock(_fd: int, _operation: int) -> None:
        raise OSError(37, "")

    monkeypatch.setattr(fcntl, "flock", no_lock)
    with (
        pytest.raises(StoreUnavailable, match="No locks available"),
        locked(graphs / "g1.json", root=root, kind="graph"),
    ):
        pass


def test_a_process_dies_after_it_said_so(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *call: killed.append(call))
    die_at("graph.locked")
    assert (capfd.readouterr().err, killed) == ("graph.locked\n", [(os.getpid(), signal.SIGKILL)])


def test_only_a_fault_point_that_exists_can_be_armed() -> None:
    with pytest.raises(ValueError, match=r"policy\.nowhere is no fault point"):
        arm_fault("policy.nowhere", lambda: None)
    fault("policy.locked")


@pytest.mark.parametrize("point", FILE_POINTS)
def test_a_kill_at_any_step_leaves_the_old_or_the_new_content(root: Path, schedule: Path, point: str) -> None:
    path = schedule / "file"
    path.write_bytes(b"old\n")
    kind, _, step = point.partition(".")
    assert children.run("die", root, path, point, "new") == (-signal.SIGKILL, "", f"{point}\n")
    left = {"renamed": b"new", "appended": b"old\nnew\n", "appended_half": b"old\nne"}.get(step, b"old\n")
    assert path.read_bytes() == left

    child.write(str(root), str(path), kind, "next")
    closed = left.removesuffix(b"\n") + b"\nnext\n"
    assert path.read_bytes() == (closed if kind in {"decisions", "events", "audit"} else b"next")


@pytest.mark.parametrize("step", ["locked", "temp_written", "before_rename"])
def test_a_kill_before_the_first_policy_leaves_one_that_can_be_read(root: Path, schedule: Path, step: str) -> None:
    path = schedule / "policy.json"
    assert children.run("die", root, path, f"policy.{step}", "new") == (-signal.SIGKILL, "", f"policy.{step}\n")
    assert path.read_bytes() == b"{}"
