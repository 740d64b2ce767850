"""What happened to tokens: lines of the ledger, so that every process on it knows them. Knows no rule."""

from datetime import datetime

from metagit_mcp.domain.access import AccessToken
from metagit_mcp.domain.value import value


@value
class TokenIssued:
    """A token was issued."""

    at: datetime
    token: AccessToken


@value
class TokenRevoked:
    """A token is good no more."""

    at: datetime
    token_id: str
    by: str


AccessEvent = TokenIssued | TokenRevoked
