"""One canonical key per repository, so that every spelling of it is the same one. Knows no git and no file system."""

from functools import lru_cache


@lru_cache(maxsize=65_536)
def repository_key(repository: str | None, project: str | None = None) -> str:
    """Return the key under which worktrees, merges and nodes name the same repository.

    Trimmed, casefolded, slashes normalised, a trailing `.git` dropped; a bare name beside a project becomes
    `project/name` (interfaces.md §1). The single dot (the workspace itself) stays as it is; no repository is `""`.
    """
    parts = _parts(repository)
    if not parts:
        return ""
    if len(parts[-1]) > len(".git"):
        parts[-1] = parts[-1].removesuffix(".git").rstrip()
    if len(parts) == 1 and parts[0] != ".":
        parts = _parts(project) + parts
    return "/".join(parts)


def _parts(name: str | None) -> list[str]:
    spelt = (part.strip() for part in (name or "").replace("\\", "/").casefold().split("/"))
    return [part for part in spelt if part]
