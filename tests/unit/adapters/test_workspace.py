"""Which folder is the workspace, line by line as interfaces.md §1 says; and the making of one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from metagit_mcp.adapters.workspace import find_workspace, init_workspace
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.errors import InvalidInput, MetagitError, WorkspaceNotFound
from tests.unit.adapters.second import run_as_nobody

STATE = ".metagit/tasks or .metagit/schedule"


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, with a home folder beside it."""
    top = tmp_path.resolve() / "top"
    (top / "home").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(top / "home"))
    return top


def folder(path: Path, *below: str) -> Path:
    for name in below or ("",):
        (path / name).mkdir(parents=True, exist_ok=True)
    return path


def found(start: Path) -> tuple[str, str]:
    place = find_workspace(None, "", str(start))
    return place.path, place.chosen_by


def refusal(path: str | None, project_dir: Path | None = None) -> tuple[str, str]:
    with pytest.raises(WorkspaceNotFound) as caught:
        find_workspace(path, "--workspace", None if project_dir is None else str(project_dir))
    return caught.value.message, caught.value.hint


# --- named -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [".metagit/tasks", ".metagit/schedule", ".metagit"])
def test_a_named_folder_is_the_workspace(mark: str, top: Path) -> None:
    root = folder(top / "ws", mark)
    assert find_workspace(str(root), "METAGIT_WORKSPACE", None) == WorkspacePlace(
        path=str(root), chosen_by="METAGIT_WORKSPACE"
    )


def test_a_named_folder_may_be_an_umbrella_without_any_state(top: Path) -> None:
    root = folder(top / "ws")
    (root / ".metagit.yml").write_text("name: ws\nkind: umbrella\n")
    assert find_workspace(str(root), "--workspace", None).path == str(root)


def test_a_named_folder_is_never_searched_upward(top: Path) -> None:
    below = folder(folder(top / "ws", ".metagit/tasks") / "below")
    assert refusal(str(below)) == (
        f"--workspace: {below} is no metagit workspace.",
        "Pass the folder that holds .metagit/, or make one there with: metagit-mcp init PATH",
    )


def test_a_named_folder_that_is_missing_is_named(top: Path) -> None:
    assert refusal(str(top / "nowhere"))[0] == f"--workspace: {top / 'nowhere'} is no metagit workspace."


def test_a_named_link_leads_to_the_folder(top: Path) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    (top / "link").symlink_to(root)
    assert find_workspace(str(top / "link"), "--workspace", None).path == str(root)


def test_a_tilde_is_the_home_folder(top: Path) -> None:
    root = folder(top / "home" / "ws", ".metagit/tasks")
    assert find_workspace("~/ws", "--workspace", None).path == str(root)


def test_the_home_folder_itself_is_never_the_workspace(top: Path) -> None:
    home = folder(top / "home", ".metagit/tasks")
    hint = "Choose a folder of its own: / and the home folder itself are never a workspace."
    assert refusal("~") == (f"--workspace: {home} cannot be a workspace.", hint)
    assert refusal(None, home)[0] == f"No metagit workspace upward from {home}."


# --- searched --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [".metagit/tasks", ".metagit/schedule"])
def test_the_nearest_folder_with_state_wins_over_a_nearer_one_without(mark: str, top: Path) -> None:
    root = folder(top / "ws", mark)
    folder(root / "a", ".metagit")
    (folder(root / "a" / "b") / ".metagit.yml").write_text("kind: umbrella\n")
    assert found(root / "a" / "b") == (
        str(root),
        "nearest folder with .metagit/tasks or .metagit/schedule, upward from CLAUDE_PROJECT_DIR",
    )


def test_of_two_folders_with_state_the_nearer_one_wins(top: Path) -> None:
    folder(top / "ws", ".metagit/tasks")
    near = folder(top / "ws" / "near", ".metagit/schedule")
    assert found(folder(near / "deep" / "er"))[0] == str(near)


def test_else_the_nearest_metagit_folder_wins_over_a_nearer_umbrella(top: Path) -> None:
    root = folder(top / "ws", ".metagit")
    (folder(root / "a") / ".metagit.yml").write_text("kind: umbrella\n")
    assert found(root / "a") == (str(root), "nearest folder with .metagit, upward from CLAUDE_PROJECT_DIR")


@pytest.mark.parametrize(
    ("text", "is_umbrella"),
    [
        ("kind: umbrella\n", True),
        ("name: x\nkind:   'umbrella'  # all of it\r\n", True),
        ('kind: "umbrella"', True),
        ("kind: application\n", False),
        ("project:\n  kind: umbrella\n", False),
        ("# kind: umbrella\n", False),
        ("kind: umbrellas\n", False),
        ("", False),
    ],
)
def test_else_a_manifest_of_kind_umbrella(text: str, is_umbrella: bool, top: Path) -> None:  # noqa: FBT001 - a table
    root = folder(top / "ws")
    (root / ".metagit.yml").write_text(text)
    folder(root / "below")
    if is_umbrella:
        assert found(root / "below") == (
            str(root),
            "nearest folder with a .metagit.yml of kind umbrella, upward from CLAUDE_PROJECT_DIR",
        )
    else:
        assert refusal(None, root / "below")[0] == f"No metagit workspace upward from {root / 'below'}."


def test_without_a_project_folder_the_search_starts_at_the_current_one(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    monkeypatch.chdir(folder(root / "below"))
    chosen_by = "nearest folder with .metagit/tasks or .metagit/schedule, upward from the current folder"
    expected = WorkspacePlace(path=str(root), chosen_by=chosen_by)
    assert find_workspace(None, "", None) == expected
    assert find_workspace(None, "", str(top / "nowhere")) == expected


def test_the_project_folder_wins_over_the_current_one(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(top / "here", ".metagit/tasks"))
    assert found(folder(top / "there", ".metagit/tasks"))[0] == str(top / "there")


def test_a_current_folder_that_is_gone_finds_nothing(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(top / "gone"))
    (top / "gone").rmdir()
    assert refusal(None)[0] == "The current folder is gone."


def test_where_nothing_is_found_the_hint_says_what_to_do(top: Path) -> None:
    assert refusal(None, top) == (
        f"No metagit workspace upward from {top}.",
        "Pass --workspace PATH or set METAGIT_WORKSPACE, or make a workspace here with: metagit-mcp init",
    )


def test_looking_makes_nothing(top: Path) -> None:
    refusal(None, folder(top / "ws"))
    refusal(str(top / "ws"))
    assert list((top / "ws").iterdir()) == []


def test_what_named_the_folder_is_told(top: Path) -> None:
    root = folder(top / "ws", ".metagit")
    place = find_workspace(None, "", str(root), started_from="the first of WORKSPACE_FOLDER_PATHS")
    assert place.chosen_by == "nearest folder with .metagit, upward from the first of WORKSPACE_FOLDER_PATHS"


# --- from the folder of a plugin -------------------------------------------------------------------------------

NO_PROJECT = (
    "A plugin's server does not know the project's folder. Set METAGIT_WORKSPACE=/path/of/the/project in its "
    "environment, or pass --workspace PATH; for Codex, give the project a server of its own, there: "
    "metagit-mcp config codex --write"
)


def refused_from(start: Path, plugin_root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(start)
    with pytest.raises(WorkspaceNotFound) as caught:
        find_workspace(None, "", None, plugin_root=str(plugin_root))
    return caught.value.message, caught.value.hint


def test_a_start_in_a_plugins_folder_says_what_to_pass(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = folder(top / "home" / ".codex/plugins/cache/metagit/0.1.0")
    link = top / "link"
    link.symlink_to(cache)
    for start, plugin_root in ((cache, cache), (folder(cache / "hooks"), cache), (cache, link)):
        assert refused_from(start, plugin_root, monkeypatch) == (
            f"No metagit workspace upward from {start}, which is a folder of a plugin and of no project.",
            NO_PROJECT,
        )


def test_a_start_elsewhere_is_refused_as_ever(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = folder(top / "cache/metagit")
    for start in (folder(top / "elsewhere"), folder(top / "cache/metagit-2"), top):
        assert refused_from(start, cache, monkeypatch)[0] == f"No metagit workspace upward from {start}."


def test_a_plugin_that_lies_in_a_workspace_finds_it(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    plugin = folder(root / "plugins/metagit")
    monkeypatch.chdir(plugin)
    assert find_workspace(None, "", None, plugin_root=str(plugin)).path == str(root)
    # The project's folder wins, wherever the process was started.
    other = folder(top / "other", ".metagit/tasks")
    assert find_workspace(None, "", str(other), plugin_root=str(plugin)).path == str(other)


# --- git worktrees ---------------------------------------------------------------------------------------------


def worktree(at: Path, main: Path, *, relative: bool = False) -> Path:
    """What `git worktree add` leaves behind."""
    git_dir = folder(main / ".git" / "worktrees" / at.name)
    (git_dir / "commondir").write_text("../..\n")
    named = os.path.relpath(git_dir, at) if relative else git_dir
    (folder(at) / ".git").write_text(f"gitdir: {named}\n")
    return at


@pytest.mark.parametrize("relative", [False, True])
def test_a_worktree_leads_to_its_main_checkout(relative: bool, top: Path) -> None:  # noqa: FBT001 - a table
    main = folder(top / "main", ".metagit/tasks")
    tree = worktree(top / "trees" / "one", main, relative=relative)
    assert found(folder(tree / "src")) == (
        str(main),
        f"nearest folder with {STATE}, upward from CLAUDE_PROJECT_DIR by way of the main checkout of its git worktree",
    )


def test_also_where_the_worktree_has_a_copy_of_the_state(top: Path) -> None:
    main = folder(top / "main", ".metagit/tasks")
    tree = folder(worktree(top / "trees" / "one", main), ".metagit/tasks")
    assert found(tree)[0] == str(main)


def test_a_main_checkout_inside_the_workspace_leads_to_it(top: Path) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    tree = worktree(top / "elsewhere" / "one", folder(root / "default" / "api"))
    assert found(tree)[0] == str(root)


def test_a_worktree_inside_the_workspace_of_a_checkout_elsewhere(top: Path) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    tree = worktree(root / ".worktrees" / "one", folder(top / "elsewhere"))
    assert found(tree)[0] == str(root)


def _submodule(tree: Path, main: Path) -> None:
    git_dir = folder(main / ".git" / "modules" / "one")
    (tree / ".git").write_text(f"gitdir: {git_dir}\n")


def _nothing_there(tree: Path, main: Path) -> None:
    (tree / ".git").write_text(f"gitdir: {main / '.git' / 'worktrees' / 'gone'}\n")


def _no_link(tree: Path, _main: Path) -> None:
    (tree / ".git").write_bytes(b"\xff\x00 no link")


def _bare(tree: Path, main: Path) -> None:
    git_dir = folder(main / "bare.git" / "worktrees" / "one")
    (git_dir / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {git_dir}\n")


def _checkout(tree: Path, _main: Path) -> None:
    folder(tree / ".git")


@pytest.mark.parametrize(
    "make", [_submodule, _nothing_there, _no_link, _bare, _checkout], ids=lambda make: make.__name__
)
def test_any_other_git_link_is_passed_over(make: Callable[[Path, Path], None], top: Path) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    tree = folder(root / "tree")
    make(tree, folder(top / "main", ".metagit/tasks"))
    assert found(tree)[0] == str(root)


# --- making one ------------------------------------------------------------------------------------------------


def test_init_makes_a_workspace_once(top: Path) -> None:
    root = top / 'a "new" folder'
    place, made = init_workspace(str(root))
    assert place == WorkspacePlace(path=str(root), chosen_by="init")
    assert made == (".metagit/tasks/graphs", ".metagit/schedule", ".metagit/.gitignore", ".metagit.yml")
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == [
        ".metagit.yml",
        ".metagit/.gitignore",
    ]
    assert (root / ".metagit.yml").read_text() == 'name: "a new folder"\nkind: umbrella\n'
    assert (root / ".metagit/.gitignore").read_text() == "*.lock\n.metagit-*.tmp\nschedule/ledger.db*\n"
    assert found(root)[0] == str(root)

    assert init_workspace(str(root)) == (place, ())


def test_init_leaves_what_is_there(top: Path) -> None:
    root = folder(top / "ws", ".metagit/schedule")
    (root / ".metagit.yml").write_text("name: mine\n")
    (root / ".metagit/.gitignore").write_text("*\n")
    assert init_workspace(str(root))[1] == (".metagit/tasks/graphs",)
    assert (root / ".metagit.yml").read_text() == "name: mine\n"
    assert (root / ".metagit/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize("inner", ["sub", "sub/deeper", ".metagit/tasks"])
def test_init_does_not_split_a_workspace_by_accident(top: Path, inner: str) -> None:
    root = folder(top / "ws", ".metagit/tasks")
    (root / "sub").mkdir()
    with pytest.raises(InvalidInput) as caught:
        init_workspace(str(root / inner))
    assert caught.value.as_record() == {
        "code": "INVALID_INPUT",
        "message": f"This folder belongs to the workspace {root} already; nothing was made.",
        "hint": "Every command finds it from here. To make another workspace inside it: metagit-mcp init --nested",
        "details": {"field": "path", "workspace": str(root)},
        "retryable": False,
    }
    assert sorted(path.name for path in root.rglob("*")) == [".metagit", "sub", "tasks"]

    place, _ = init_workspace(str(root / inner), nested=True)
    assert found(root / inner)[0] == place.path == str(root / inner)
    assert init_workspace(str(root / inner)) == (place, ())


def test_init_in_a_worktree_names_the_workspace_of_its_main_checkout(top: Path) -> None:
    main = folder(top / "main", ".metagit/tasks")
    tree = worktree(top / "tree", main)
    with pytest.raises(InvalidInput) as caught:
        init_workspace(str(tree))
    assert caught.value.details["workspace"] == str(main)


@pytest.mark.parametrize("path", ["/", "~"])
def test_init_refuses_the_root_and_the_home_folder(path: str, top: Path) -> None:
    with pytest.raises(WorkspaceNotFound) as caught:
        init_workspace(path)
    assert caught.value.message.endswith(" cannot be a workspace.")
    assert list((top / "home").iterdir()) == []


def test_init_where_nothing_may_be_written(root: Path) -> None:
    assert run_as_nobody("init", root) == [
        "READ_ONLY",
        ".metagit/.gitignore cannot be written: Permission denied.",
    ]


def test_init_on_a_file(top: Path) -> None:
    (top / "file").touch()
    with pytest.raises(MetagitError) as caught:
        init_workspace(str(top / "file"))
    assert caught.value.code == "STORE_UNAVAILABLE"
