"""One canonical key per repository, so that every spelling of it is the same one. Knows no git and no file system."""

from functools import lru_cache


@lru_cache(maxsize=65_536)
def repository_key(repository: str | None, project: str | None = None) -> str:
    """Return the key under which worktrees, merges and nodes name the same repository.

    Trimmed, casefolded, slashes normalised, a trailing `.git` dropped; a bare name beside a project becomes
    `project/name` (interfaces.md §1). The single dot (the workspace itself) stays as it is; no repository is `""`.
    """
    parts = [part for part in (repository or "").strip().replace("\\", "/").casefold().split("/") if part]
    if not parts:
        return ""
    if len(parts[-1]) > len(".git"):
        parts[-1] = parts[-1].removesuffix(".git")
    owner = (project or "").strip().casefold()
    if len(parts) == 1 and owner and parts[0] != ".":
        parts.insert(0, owner)
    return "/".join(parts)
