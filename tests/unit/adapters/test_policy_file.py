"""policy.json means what it says, or is an error that says why; it never silently means the defaults."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from metagit_mcp.adapters import policy_file
from metagit_mcp.adapters.policy_file import PolicyFileStore
from metagit_mcp.adapters.refusals import read_error
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy, WeightOverride, Weights
from metagit_mcp.errors import InvalidInput, PolicyInvalid
from metagit_mcp.wire.policy_codec import read_policy, revision_of
from tests.unit.adapters.reading import Json, Reader, kept_of, node, put, put_graph
from tests.unit.adapters.second import run_as_nobody


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


@pytest.fixture
def store(root: Path) -> PolicyFileStore:
    return PolicyFileStore(str(root))


def on_disk(schedule: Path) -> Json:
    return dict(json.loads((schedule / "policy.json").read_text()))


# --- reading ---------------------------------------------------------------------------------------------------


def test_a_missing_file_means_the_defaults(reader: Reader) -> None:
    image = reader.read()
    assert (image.policy, image.policy_error) == (SchedulePolicy(), None)
    assert image.revision == revision_of(SchedulePolicy())


def test_the_file_of_metagit_is_read(reader: Reader, schedule: Path) -> None:
    weights = {"priority": 2.0, "affinity": 0.5, "cost": 0.25, "fairness": 0.0}
    override = {"priority": 3.0, "affinity": None, "cost": None, "fairness": None}
    put(schedule / "policy.json", {"weights": weights, "graph_overrides": {"g1": override}})
    assert reader.read().policy == SchedulePolicy(
        weights=Weights(priority=2.0), graph_overrides={"g1": WeightOverride(priority=3.0)}
    )


def test_a_hand_edit_changes_the_revision_and_the_state(reader: Reader, schedule: Path) -> None:
    first = reader.read()
    put(schedule / "policy.json", {"slots": 3})
    second = reader.read()
    assert second.policy == replace(SchedulePolicy(), slots=3)
    assert first.revision != second.revision
    assert first.state_version != second.state_version


def test_another_spelling_of_the_same_policy_changes_nothing(reader: Reader, schedule: Path) -> None:
    first = reader.read()
    put(schedule / "policy.json", {"merge_queue_threshold": 3, "$schema": "x", "slots": None})
    assert reader.read() is first


def test_a_weight_with_seven_places_is_warned_of(reader: Reader, schedule: Path) -> None:
    put(schedule / "policy.json", {"weights": {"priority": 0.1234567}})
    assert reader.warnings() == ("policy: weights.priority has more than six decimal places and is rounded half-even",)


NOT_JSON = ".metagit/schedule/policy.json is not valid JSON"
BAD = {
    b"": f"{NOT_JSON}: EOF while parsing a value at line 1 column 0.",
    b"[]": ".metagit/schedule/policy.json must hold one JSON object.",
    b"null": ".metagit/schedule/policy.json must hold one JSON object.",
    b'{"weights": ': f"{NOT_JSON}: EOF while parsing a value at line 1 column 12.",
    b'{"weights": {"priority": NaN}}': f"{NOT_JSON}: expected value at line 1 column 26.",
    b'{"weights": null}': None,
    b'{"weights": {"priority": null}}': None,
    b'{"weights": {"priority": "2"}}': None,
    b'{"weights": {"priority": -1}}': None,
    b'{"merge_queue_threshold": 0}': None,
    b'{"treshold": 3}': None,
    b'{"a": "\xff"}': None,
}


@pytest.mark.parametrize("raw", BAD)
def test_a_bad_policy_is_an_error_and_not_the_defaults(
    raw: bytes, reader: Reader, schedule: Path, graphs: Path
) -> None:
    put_graph(graphs, "g", node("n"))
    (schedule / "policy.json").write_bytes(raw)
    image = reader.read()
    assert image.policy is None
    assert isinstance(image.policy_error, PolicyInvalid)
    assert BAD[raw] in {None, image.policy_error.message}
    assert image.revision == ""
    assert list(image.graphs) == ["g"]
    assert reader.read() is image


def test_a_mended_policy_counts_again(reader: Reader, schedule: Path) -> None:
    first = reader.read()
    (schedule / "policy.json").write_text("{")
    broken = reader.read()
    put(schedule / "policy.json", {})
    mended = reader.read()
    assert broken.policy is None
    assert (mended.policy, mended.policy_error) == (first.policy, None)
    assert mended.state_version == first.state_version != broken.state_version


def test_a_folder_in_its_place_is_an_error(reader: Reader, schedule: Path) -> None:
    (schedule / "policy.json").mkdir()
    error = reader.read().policy_error
    assert error is not None
    assert (error.code, error.message) == (
        "POLICY_INVALID",
        ".metagit/schedule/policy.json is not a regular file but a folder.",
    )


def test_a_file_that_this_user_may_not_read_is_no_mistake_in_it(
    reader: Reader, schedule: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise read_error(PermissionError(errno.EACCES, "denied"), ".metagit/schedule/policy.json")

    put(schedule / "policy.json", {})
    monkeypatch.setattr(policy_file, "read_regular", denied)
    error = reader.read().policy_error
    assert error is not None
    assert (error.code, error.message, error.hint) == (
        "STORE_UNAVAILABLE",
        ".metagit/schedule/policy.json cannot be read: Permission denied.",
        "The user that runs metagit-mcp must be allowed to read it and to enter its folders.",
    )


def test_while_it_is_written_the_last_policy_stands(reader: Reader, schedule: Path) -> None:
    put(schedule / "policy.json", {"slots": 3})
    first = reader.read()
    (schedule / "policy.json").write_text("")
    reader.time.just_after(schedule / "policy.json")
    assert reader.read() is first
    assert reader.files.changed() is True

    reader.time.now_ns += 200_000_000
    assert reader.read().policy is None
    assert (reader.files.changed(), reader.time.pauses) == (False, 0)


def test_a_first_reading_waits_for_a_policy_that_is_being_written(reader: Reader, schedule: Path) -> None:
    path = schedule / "policy.json"
    path.write_text("")
    reader.time.just_after(path)
    reader.time.at_pause(2, path, {"slots": 3})
    policy = reader.read().policy
    assert policy is not None
    assert (policy.slots, reader.time.pauses) == (3, 2)


# --- writing ---------------------------------------------------------------------------------------------------


def test_a_set_writes_the_file_as_metagit_does(store: PolicyFileStore, root: Path, schedule: Path) -> None:
    seen: list[Json] = []

    def change(record: Json) -> Json:
        seen.append(record)
        return {"weights": {"priority": 2.0}, "slots": 3}

    store.revise(change)
    assert seen == [{}]
    assert (schedule / "policy.json").read_text() == json.dumps(
        {"weights": {"priority": 2.0}, "slots": 3}, indent=2
    ) + "\n"
    assert (schedule / "policy.json").stat().st_mode & 0o777 == 0o600
    assert kept_of(root) == {"policy": {"slots": 3}, "graphs": {}}


def test_a_set_that_says_nothing_or_refuses_leaves_the_defaults(store: PolicyFileStore, schedule: Path) -> None:
    store.revise(lambda _: None)
    assert on_disk(schedule) == {}

    def refuse(_: Json) -> Json:
        raise InvalidInput("no", field="x")

    with pytest.raises(InvalidInput):
        store.revise(refuse)
    assert on_disk(schedule) == {}


def test_a_set_sees_dropped_keys_and_writes_them_back(store: PolicyFileStore, root: Path, schedule: Path) -> None:
    store.revise(lambda _: {"slots": 3, "weights": {"urgency": 0.5, "priority": 2.0}})
    put(schedule / "policy.json", {"weights": {"priority": 1.5}, "mine": 1})
    seen: list[Json] = []

    def change(record: Json) -> Json:
        seen.append(record)
        return {**record, "merge_queue_threshold": 4}

    store.revise(change)
    in_force = {"weights": {"priority": 1.5, "urgency": 0.5}, "mine": 1, "slots": 3}
    assert seen == [in_force]
    assert on_disk(schedule) == {**in_force, "merge_queue_threshold": 4}
    assert kept_of(root)["policy"] == {"slots": 3, "mine": 1, "weights": {"urgency": 0.5}}


def test_shares_that_another_program_dropped_stay_in_force(
    store: PolicyFileStore, reader: Reader, root: Path, schedule: Path
) -> None:
    shares: Json = {
        "ordering": "score",
        "classes": {"low": 2},
        "groups": {"g": {"class": "low", "weight": 3}},
        "pass_over_limit": 5,
        "drain_limit": 0,
        "deadline_window": 0,
        "class_window": 2,
        "preemption": {"enabled": False},
    }
    store.revise(lambda _: shares)
    wanted = reader.read().policy
    assert wanted == read_policy(shares)
    assert kept_of(root)["policy"] == shares

    put(schedule / "policy.json", {"weights": {"priority": 1.0}})
    assert reader.read().policy == wanted
    (warning,) = reader.warnings()
    assert warning.startswith(f"policy: another program dropped {', '.join(sorted(shares))}; the kept values stay in ")
    put(schedule / "policy.json", {**dict.fromkeys(shares), "groups": {"g": {"weight": 3}}})
    assert reader.read().policy == replace(SchedulePolicy(), groups={"g": GroupPolicy(weight=3)})
    assert reader.warnings() == ()


def test_keys_that_a_set_removes_have_ended(store: PolicyFileStore, root: Path, schedule: Path) -> None:
    store.revise(lambda _: {"slots": 3, "fairness_window": 7, "weights": {"urgency": 0.5}})
    store.revise(lambda record: {"weights": {}, "fairness_window": record["fairness_window"]})
    assert on_disk(schedule) == {"weights": {}, "fairness_window": 7, "slots": None}
    assert kept_of(root)["policy"] == {"fairness_window": 7}
    image = Reader(root).read()
    assert image.policy == replace(SchedulePolicy(), fairness_window=7)
    assert image.warnings == ()


def test_an_empty_file_is_set_anew(store: PolicyFileStore, root: Path, schedule: Path) -> None:
    store.revise(lambda _: {"slots": 3})
    (schedule / "policy.json").write_bytes(b"")
    store.revise(lambda record: {**record, "fairness_window": 7})
    assert on_disk(schedule) == {"slots": 3, "fairness_window": 7}
    assert Reader(root).warnings() == ()


@pytest.mark.parametrize("raw", [b"{", b"[]", b"\xff", b'{"a": NaN}'])
def test_a_damaged_file_is_not_overwritten(raw: bytes, store: PolicyFileStore, schedule: Path) -> None:
    (schedule / "policy.json").write_bytes(raw)
    with pytest.raises(PolicyInvalid):
        store.revise(lambda _: {"slots": 3})
    assert (schedule / "policy.json").read_bytes() == raw


def test_a_number_without_a_word_in_json_is_not_written(store: PolicyFileStore, schedule: Path) -> None:
    before = put(schedule / "policy.json", {"slots": 3}).read_bytes()
    with pytest.raises(InvalidInput):
        store.revise(lambda record: {**record, "$schema": float("inf")})
    assert (schedule / "policy.json").read_bytes() == before


def test_a_policy_with_a_wrong_value_can_be_mended(store: PolicyFileStore, reader: Reader, schedule: Path) -> None:
    put(schedule / "policy.json", {"merge_queue_threshold": 0, "slots": 2})
    store.revise(lambda record: {**record, "merge_queue_threshold": 5})
    assert reader.read().policy == replace(SchedulePolicy(), merge_queue_threshold=5, slots=2)


def test_where_nothing_may_be_written_it_says_so(root: Path, schedule: Path) -> None:
    put(schedule / "policy.json", {}).chmod(0o644)
    code, message = run_as_nobody("write", root, "policy")
    assert (code, message) == ("READ_ONLY", ".metagit/schedule/policy.json cannot be written: Permission denied.")


def test_a_kept_json_that_cannot_be_written_is_a_warning_and_the_policy_stands(
    store: PolicyFileStore, schedule: Path
) -> None:
    (schedule / "kept.json").mkdir()
    warnings = store.revise(lambda _: {"slots": 3})
    assert on_disk(schedule) == {"slots": 3}
    assert warnings == (".metagit/schedule/kept.json is not a regular file but a folder.",)

    (schedule / "kept.json").rmdir()
    assert store.revise(lambda _: {"slots": 4}) == ()
