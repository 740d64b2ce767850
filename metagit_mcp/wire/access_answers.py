"""What is answered about tokens. Knows no use case, and no secret but the one that was just drawn."""

from datetime import datetime

from metagit_mcp.domain.access import Act, Role
from metagit_mcp.domain.value import value


@value
class TokenRecord:
    """One token, without its secret; `is_live`: it is neither revoked nor over."""

    token_id: str
    subject: str
    role: Role
    is_live: bool
    issued_at: datetime
    issued_by: str
    group_id: str | None = None
    audience: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None


@value
class TokenIssuedAnswer:
    """The answer to `token issue`: the one time that the secret is shown."""

    token: TokenRecord
    secret: str
    warnings: tuple[str, ...]
    next_step: str


@value
class TokensAnswer:
    """The answer to `token list`: live tokens first, then the others, each in the order of issue."""

    tokens: tuple[TokenRecord, ...]
    warnings: tuple[str, ...]
    next_step: str


@value
class TokenRevokedAnswer:
    """The answer to `token revoke`."""

    token: TokenRecord
    changed: bool
    warnings: tuple[str, ...]
    next_step: str


@value
class WhoAnswer:
    """Who calls, as what, and what it may do; `group_id` is a coordinator's Group. Without a session nothing else."""

    signed_in: bool
    subject: str | None = None
    role: Role | None = None
    acts: tuple[Act, ...] = ()
    group_id: str | None = None
