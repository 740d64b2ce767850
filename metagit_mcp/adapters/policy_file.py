"""Reads and writes schedule/policy.json, with the keys that other programs drop kept in force. Knows no graph.

A missing file means the defaults; one that cannot be used is an error that says why, never the defaults.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from metagit_mcp.adapters.files import atomic_write, make_folder, read_regular
from metagit_mcp.adapters.follow_up import follow_up
from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.adapters.kept import Kept, Lesson, learn, policy_lesson, policy_set_lesson, read_kept
from metagit_mcp.adapters.layout import POLICY, SCHEDULE
from metagit_mcp.adapters.locks import locked_in_place
from metagit_mcp.adapters.patience import Draft, Patience
from metagit_mcp.adapters.refusals import FileRefused, FileUnreadable
from metagit_mcp.domain.policy import FOREIGN_WEIGHTS, RFC_KEYS, SchedulePolicy
from metagit_mcp.errors import InvalidInput, MetagitError, PolicyInvalid, StoreUnavailable
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.graph_codec import content_digest
from metagit_mcp.wire.policy_codec import (
    own_part,
    policy_record,
    read_policy,
    revision_of,
    rounding_warnings,
    with_kept,
)
from metagit_mcp.wire.policy_problems import BY_HAND, POLICY_FILE

_IN_FORCE: Final = "the kept values stay in force (end one by an explicit null)"


@dataclass(frozen=True, slots=True)
class PolicyReading:
    """The policy as read: either `policy` or `error` stands. `record` is the file's own JSON, None without one."""

    policy: SchedulePolicy | None = None
    error: MetagitError | None = None
    revision: str = ""
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()
    record: Json | None = None


class PolicyFile:
    """The policy of one workspace, read again only when its file or what is kept changed."""

    def __init__(self, root: str, patience: Patience) -> None:
        """Read nothing yet."""
        self.now = PolicyReading()
        self.again = False
        self._root = root
        self._patience = patience
        self._untaught = False
        self._kept: Mapping[str, Any] = {}

    def refresh(self, kept: Kept) -> None:
        """Read the file; `again` then says that it was being written and is to be read again at the next call."""
        former = self.now if self.now.policy is not None else None
        found = self._patience.settle(lambda: self._look(kept), former)
        self.again = found.passing
        fresh = found.what
        if former is not None and fresh.policy == former.policy:
            fresh = replace(fresh, policy=former.policy)
        self.now, self._kept, self._untaught = fresh, kept.policy, True

    def lesson(self) -> Lesson | None:
        """Return what the file says of our keys, if it was read since the last `taught`."""
        record = self.now.record
        if not self._untaught or record is None or self.now.policy is None:
            return None
        return policy_lesson(own_part(record), record, self._kept)

    def taught(self) -> None:
        """Note that kept.json knows what the file says."""
        self._untaught = False

    def _look(self, kept: Kept) -> Draft[PolicyReading]:
        try:
            image = read_regular(f"{self._root}/{POLICY}", root=self._root)
        except FileRefused as error:
            return Draft(_failed(_refused(error)))
        except StoreUnavailable as error:
            return Draft(_failed(error), passing=True)
        if image is None:
            return Draft(_understood(None, kept))
        try:
            record = policy_record(image.raw)
        except PolicyInvalid as error:
            return Draft(_failed(error, image.raw), passing=self._patience.is_young(image.signature[0]))
        try:
            return Draft(_understood(record, kept))
        except PolicyInvalid as error:
            return Draft(_failed(error, image.raw))


def _refused(error: FileRefused) -> MetagitError:
    """Return what a refused file means: a mistake in the policy, unless this user may not read it at all."""
    if isinstance(error, FileUnreadable):
        return StoreUnavailable(error.message, hint=error.hint, **error.details)
    return PolicyInvalid(error.message, hint=BY_HAND)


def _failed(error: MetagitError, raw: bytes = b"") -> PolicyReading:
    return PolicyReading(error=error, fingerprint=f"invalid {content_digest(raw + error.message.encode())}")


def _understood(record: Json | None, kept: Kept) -> PolicyReading:
    """Return what a record means with the kept keys.

    Raises:
        PolicyInvalid: the record itself is wrong.
    """
    policy, warnings = _with_overlay(record or {}, kept)
    revision = revision_of(policy)
    return PolicyReading(
        policy=policy,
        revision=revision,
        fingerprint=revision,
        warnings=(*warnings, *rounding_warnings(policy)),
        record=record,
    )


def _with_overlay(record: Json, kept: Kept) -> tuple[SchedulePolicy, list[str]]:
    in_force, restored = with_kept(record, kept.policy)
    if not restored:
        return read_policy(_without_nulls(record)), []
    names = ", ".join(sorted(restored))
    try:
        policy = read_policy(_without_nulls(in_force), InvalidInput)
    except InvalidInput as error:
        # Whoever is at fault, the file or what is kept: the file alone is tried, and its own error stands.
        policy = read_policy(_without_nulls(record))
        return policy, [f"policy: the kept values of {names} are left out, since {error.message}"]
    return policy, [f"policy: another program dropped {names}; {_IN_FORCE}"]


def _without_nulls(record: Json) -> Json:
    """Return the record without the nulls that end kept weights; elsewhere null has its own meaning."""
    plain = dict(record)
    if isinstance(weights := plain.get("weights"), dict):
        plain["weights"] = {name: each for name, each in weights.items() if each is not None or name in FOREIGN_WEIGHTS}
    return plain


class PolicyFileStore:
    """policy.json of one workspace, to be written."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root

    def revise(self, change: Callable[[Json], Json | None]) -> tuple[str, ...]:
        """Give `change` the record in force, write what it returns; see `ports.workspace.PolicyStore`.

        Other programs lock the file itself, so it is created with `{}` in it (the defaults) when it is missing.
        """
        root, path = self._root, f"{self._root}/{POLICY}"
        make_folder(f"{root}/{SCHEDULE}", root=root)
        with locked_in_place(path, root=root, kind="policy", first=b"{}\n"):
            known = read_kept(root)
            revised = change(_without_nulls(_in_force(_record(path, root), known.policy)))
            if revised is None:
                return ()
            atomic_write(path, render_document(_with_nulls(revised, known.policy)), root=root, kind="policy")
            lesson = policy_set_lesson(own_part(revised), known.policy)
            return follow_up(lambda: learn(root, known, {}, lesson))


def _in_force(record: Json, kept: Mapping[str, Any]) -> Json:
    """Return the record with the kept keys; alone where it is they that cannot be used and would stop every set."""
    in_force, _ = with_kept(record, kept)
    return record if _is_policy(record) and not _is_policy(in_force) else in_force


def _is_policy(record: Json) -> bool:
    try:
        read_policy(_without_nulls(record))
    except PolicyInvalid:
        return False
    return True


def _record(path: str, root: str) -> Json:
    """Return the JSON object in the file; in an empty one, left by a writer that was killed, there is none to lose."""
    try:
        image = read_regular(path, root=root)
        return parse_document(image.raw) if image is not None and image.raw.strip() else {}
    except FileRefused as error:
        raise _refused(error) from None
    except ValueError as error:
        raise PolicyInvalid(f"{POLICY_FILE} is not valid JSON: {error}.", hint=BY_HAND) from None


def _with_nulls(record: Json, kept: Mapping[str, Any]) -> Json:
    """Return the record with an explicit null where a change removed a kept key of the top level.

    Without it, a process that is killed before kept.json is written would leave the key in force.
    """
    removed = [name for name in kept if name not in RFC_KEYS and name not in record]
    return {**record, **dict.fromkeys(removed)}
