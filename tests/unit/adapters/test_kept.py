"""What other programs drop stays in force until a null or a set through us ends it, whoever writes in between."""

import json
from pathlib import Path

import pytest

from metagit_mcp.adapters.kept import Kept, Lesson, learn, read_kept
from tests.unit.adapters.reading import Reader, graph, kept_of, node, put, put_graph, state_of, without
from tests.unit.adapters.second import run_as_nobody

DROPPED = "another program dropped"
ENDING = "the kept values stay in force (end one by an explicit null)"


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def lesson(**found: object) -> Lesson:
    return Lesson({("n", name): each for name, each in found.items()}, {})


# --- graphs ----------------------------------------------------------------------------------------------------


def test_fields_of_ours_are_kept_and_fields_of_others_are_not(reader: Reader, root: Path, graphs: Path) -> None:
    fields = {"deadline": "2026-12-01T12:00:00+02:00", "capabilities": ["gpu"], "budget": {"tokens": 5}, "slots": 2}
    put_graph(graphs, "g", node("n", **fields, priority=7), node("plain", estimated_tokens=3))
    reader.read()
    assert kept_of(root) is None

    reader.files.remember()
    kept = {**fields, "deadline": "2026-12-01T10:00:00Z"}
    assert kept_of(root) == {"policy": {}, "graphs": {"g": {"nodes": {"n": kept}}}}


def test_without_fields_of_ours_nothing_is_written(reader: Reader, schedule: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=None))
    put(schedule / "policy.json", {"weights": {"priority": 2.0}, "gates": None})
    reader.read()
    reader.files.remember()
    assert [path.name for path in schedule.iterdir()] == ["policy.json"]


def test_what_is_kept_already_is_not_written_again(reader: Reader, schedule: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=2))
    reader.read()
    reader.files.remember()
    before = state_of(schedule / "kept.json")
    first = reader.read()

    put_graph(graphs, "g", node("n", slots=2, status="running"))
    assert reader.read() is not first
    reader.files.remember()
    assert state_of(schedule / "kept.json") == before


def test_dropped_fields_stay_in_force_with_one_warning(reader: Reader, root: Path, graphs: Path) -> None:
    rows = [node(name, risk="external", slots=2) for name in "abcdefg"]
    put_graph(graphs, "g", *rows)
    reader.read()
    reader.files.remember()

    put(graphs / "g.json", without(graph(*rows), "risk", "slots"))
    for each in (reader, Reader(root)):
        assert {found.risk for found in each.nodes().values()} == {"external"}
        assert {found.slots for found in each.nodes().values()} == {2}
        shown = "a.risk, a.slots, b.risk, b.slots, c.risk and 9 more"
        assert each.warnings() == (f"graph g: {DROPPED} {shown}; {ENDING}",)
        each.files.remember()
    assert set(kept_of(root)["graphs"]["g"]["nodes"]) == set("abcdefg")


def test_an_explicit_null_ends_one_value(reader: Reader, root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", risk="external", slots=2))
    reader.read()
    reader.files.remember()

    put_graph(graphs, "g", node("n", risk=None))
    found = reader.nodes()["n"]
    assert (found.risk, found.slots) == (None, 2)
    reader.files.remember()
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}

    put_graph(graphs, "g", node("n"))
    assert (reader.nodes()["n"].risk, reader.nodes()["n"].slots) == (None, 2)


def test_a_changed_value_replaces_the_kept_one(reader: Reader, root: Path, graphs: Path) -> None:
    for slots in (2, 3):
        put_graph(graphs, "g", node("n", slots=slots))
        reader.read()
        reader.files.remember()
        assert kept_of(root)["graphs"]["g"]["nodes"]["n"] == {"slots": slots}


def test_nodes_that_are_gone_are_forgotten_and_unusable_graphs_forget_nothing(
    reader: Reader, root: Path, graphs: Path
) -> None:
    put_graph(graphs, "g", node("n", slots=2), node("m", slots=3))
    put_graph(graphs, "h", node("n", slots=4))
    reader.read()
    reader.files.remember()

    put_graph(graphs, "g", node("m"))
    (graphs / "h.json").write_text("{")
    reader.read()
    reader.files.remember()
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"m": {"slots": 3}}}, "h": {"nodes": {"n": {"slots": 4}}}}


def test_a_bad_value_of_ours_is_not_kept_and_ends_nothing(reader: Reader, root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=2))
    reader.read()
    reader.files.remember()

    put_graph(graphs, "g", node("n", slots="many"))
    assert set(reader.read().graphs["g"].defects) == {"n"}
    reader.files.remember()
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}


def test_the_state_version_follows_what_is_in_force_and_not_kept_json(reader: Reader, root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=2), node("plain"))
    whole = reader.read()
    reader.files.remember()
    assert reader.read() is whole

    put_graph(graphs, "g", node("n"), node("plain"))
    dropped = reader.read()
    assert Reader(root).read().state_version == dropped.state_version
    reader.files.remember()
    assert reader.read() is dropped

    (root / ".metagit/schedule/kept.json").unlink()
    gone = reader.read()
    assert gone.graphs["g"].graph is not None
    assert [found.slots for found in gone.graphs["g"].graph.nodes] == [None, None]
    assert len({whole.state_version, dropped.state_version, gone.state_version}) == 3


def test_what_ancompanion_kept_meanwhile_is_neither_lost_nor_ended(root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=2))
    slow = Reader(root)
    slow.read()
    other = Reader(root)
    put_graph(graphs, "g", node("n", slots=5, risk="external"))
    other.read()
    other.files.remember()

    slow.files.remember()
    kept = kept_of(root)["graphs"]["g"]["nodes"]["n"]
    assert kept["risk"] == "external"


def test_what_is_kept_of_another_node_leaves_the_graph_the_same_object(
    reader: Reader, root: Path, graphs: Path
) -> None:
    put_graph(graphs, "g", node("n", slots=2), node("m"))
    reader.read()
    reader.files.remember()
    put_graph(graphs, "g", node("n"), node("m"))
    image = reader.read()
    record = kept_of(root)
    record["graphs"]["g"]["nodes"]["gone"] = {"slots": 3}
    put(root / ".metagit/schedule/kept.json", record)
    assert reader.files.changed() is True
    assert reader.read() is image


# --- the policy ------------------------------------------------------------------------------------------------

OWN = {
    "weights": {"urgency": 0.5},
    "graph_overrides": {"g": {"deadline": 0.25}},
    "gates": {"approval_required_for": ["external"]},
    "slots": 3,
}
FOREIGN = {"weights": {"priority": 2.0}, "graph_overrides": {"g": {"affinity": 0.1}}, "merge_queue_threshold": 4}


def both() -> dict[str, object]:
    return {
        **OWN,
        **FOREIGN,
        "weights": {**OWN["weights"], **FOREIGN["weights"]},  # type: ignore[dict-item]  # both are dicts
        "graph_overrides": {"g": {"affinity": 0.1, "deadline": 0.25}},
        "$schema": "https://example.org/policy.schema.json",
    }


def test_our_part_of_the_policy_is_kept(reader: Reader, root: Path, schedule: Path) -> None:
    put(schedule / "policy.json", both())
    reader.read()
    reader.files.remember()
    assert kept_of(root) == {"policy": OWN, "graphs": {}}


def test_dropped_keys_of_the_policy_stay_in_force_with_one_warning(reader: Reader, root: Path, schedule: Path) -> None:
    put(schedule / "policy.json", both())
    whole = reader.read()
    reader.files.remember()

    put(schedule / "policy.json", FOREIGN)
    names = "gates, graph_overrides.g.deadline, slots, weights.urgency"
    for each in (reader, Reader(root)):
        image = each.read()
        assert image.policy == whole.policy
        assert (image.revision, image.state_version) == (whole.revision, whole.state_version)
        assert sorted(image.warnings) == [f"policy: {DROPPED} {names}; {ENDING}"]
    assert reader.read().policy is whole.policy


def test_a_changed_key_of_the_policy_replaces_the_kept_one(reader: Reader, root: Path, schedule: Path) -> None:
    for slots in (3, 4):
        put(schedule / "policy.json", {"slots": slots})
        reader.read()
        reader.files.remember()
        assert kept_of(root)["policy"] == {"slots": slots}


def test_a_policy_that_is_gone_leaves_our_keys_in_force(reader: Reader, schedule: Path) -> None:
    put(schedule / "policy.json", {"slots": 3})
    reader.read()
    reader.files.remember()
    (schedule / "policy.json").unlink()
    image = reader.read()
    assert image.policy is not None
    assert (image.policy.slots, image.warnings) == (3, (f"policy: {DROPPED} slots; {ENDING}",))


def test_explicit_nulls_end_keys_of_the_policy(reader: Reader, root: Path, schedule: Path) -> None:
    put(schedule / "policy.json", both())
    reader.read()
    reader.files.remember()

    ended = {"weights": {"urgency": None}, "graph_overrides": {"g": None}, "slots": None}
    put(schedule / "policy.json", {**ended, "graph_overrides": {"g": {"deadline": None}}})
    image = reader.read()
    assert image.policy is not None
    assert (image.policy.weights.urgency, image.policy.slots) == (1.0, None)
    assert image.policy.graph_overrides["g"].deadline is None
    assert image.warnings == (f"policy: {DROPPED} gates; {ENDING}",)
    reader.files.remember()
    assert kept_of(root)["policy"] == {"gates": OWN["gates"]}


def test_kept_values_that_make_no_policy_are_left_out(reader: Reader, schedule: Path) -> None:
    put(schedule / "kept.json", {"policy": {"slots": "many", "weights": 5}, "graphs": {}})
    image = reader.read()
    assert image.policy is not None
    assert image.policy.slots is None
    assert [text.partition(", since")[0] for text in image.warnings] == [
        "policy: the kept values of slots are left out"
    ]


# --- the file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b'{"graphs": []}', b'{"policy": 1}', b'{"graphs": {"g": {"nodes": {"n": 1}}}}', b"\xff"],
)
def test_a_damaged_file_is_a_warning_and_is_set_aside_at_the_next_write(
    raw: bytes, reader: Reader, root: Path, schedule: Path, graphs: Path
) -> None:
    (schedule / "kept.json").write_bytes(raw)
    put_graph(graphs, "g", node("plain"))
    (warning,) = reader.warnings()
    assert warning.startswith(".metagit/schedule/kept.json: ")
    assert warning.endswith("; nothing is kept, and the next write sets the file aside as kept.json.bad")
    reader.files.remember()
    assert (schedule / "kept.json").read_bytes() == raw

    put_graph(graphs, "g", node("n", slots=2))
    reader.read()
    reader.files.remember()
    assert (schedule / "kept.json.bad").read_bytes() == raw
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}
    assert reader.warnings() == ()


def test_a_folder_in_its_place_is_a_warning_and_stays(reader: Reader, schedule: Path, graphs: Path) -> None:
    (schedule / "kept.json").mkdir()
    put_graph(graphs, "g", node("n", slots=2))
    name = ".metagit/schedule/kept.json is not a regular file but a folder"
    assert reader.warnings() == (f"{name}; nothing is kept, and the next write sets the file aside as kept.json.bad",)
    assert reader.files.remember() == (f"fields of ours are not kept against other programs: {name}.",)
    assert (schedule / "kept.json").is_dir()


def test_a_damaged_file_that_cannot_be_set_aside_stays(reader: Reader, schedule: Path, graphs: Path) -> None:
    (schedule / "kept.json").write_text("{")
    (schedule / "kept.json.bad").mkdir()
    put_graph(graphs, "g", node("n", slots=2))
    reader.read()
    (warning,) = reader.files.remember()
    assert warning.endswith(": .metagit/schedule/kept.json cannot be written: Is a directory.")
    assert (schedule / "kept.json").read_text() == "{"


def test_where_nothing_may_be_written_a_warning_says_so(root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n", slots=2)).chmod(0o644)
    found = run_as_nobody("image", root)
    assert (found["usable"], found["warnings"]) == (["g"], [])
    why = ".metagit/schedule/kept.json.lock cannot be written: Permission denied."
    assert found["unkept"] == [f"fields of ours are not kept against other programs: {why}"]


def test_unknown_parts_of_a_path_are_mended(root: Path) -> None:
    put(root / ".metagit/schedule/kept.json", {"policy": {"graph_overrides": {"g": 5}}, "graphs": {}})
    known = read_kept(str(root))
    taught = learn(str(root), known, {}, Lesson({("graph_overrides", "g", "urgency"): 0.5}, {}))
    assert taught == Kept({"graph_overrides": {"g": {"urgency": 0.5}}}, {})


def test_a_graph_whose_last_value_ends_leaves_nothing(root: Path) -> None:
    known = learn(str(root), Kept(), {"g": lesson(slots=2)})
    assert learn(str(root), known, {"g": Lesson({}, {("n", "slots"): 2})}) == Kept({}, {})
    assert json.loads((root / ".metagit/schedule/kept.json").read_text()) == {"policy": {}, "graphs": {}}


def test_a_newer_value_than_the_ended_one_stays(root: Path) -> None:
    known = learn(str(root), Kept(), {"g": lesson(slots=2)})
    learn(str(root), known, {"g": lesson(slots=3)})
    assert learn(str(root), known, {"g": Lesson({}, {("n", "slots"): 2})}).nodes("g") == {"n": {"slots": 3}}
