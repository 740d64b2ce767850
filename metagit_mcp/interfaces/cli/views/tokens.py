"""How answers about tokens look to people. It must not print, nor decide what matters."""

from collections.abc import Iterator

from metagit_mcp.domain.instant import instant_text
from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import view_remarks
from metagit_mcp.wire.access_answers import TokenIssuedAnswer, TokenRecord, TokenRevokedAnswer, TokensAnswer


def view_issued(answer: TokenIssuedAnswer) -> Iterator[Block]:
    """Yield the secret, and what it is good for."""
    yield f"{answer.token.token_id}: {_purpose(answer.token)}"
    yield f"secret: {answer.secret}"
    yield from view_remarks(answer.warnings, answer.next_step)


def view_tokens(answer: TokensAnswer) -> Iterator[Block]:
    """Yield a row for each token."""
    header = ("token", "subject", "role", "good", "issued", "by")
    rows = tuple(
        (
            each.token_id,
            each.subject,
            f"{each.role} {each.group_id}" if each.group_id else each.role,
            _standing(each),
            instant_text(each.issued_at)[:10],
            each.issued_by,
        )
        for each in answer.tokens
    )
    yield Table(title="Tokens", header=header, rows=rows)
    yield from view_remarks(answer.warnings, answer.next_step)


def view_revoked(answer: TokenRevokedAnswer) -> Iterator[Block]:
    """Yield what became of it."""
    when = "now" if answer.changed else "before"
    yield f"{answer.token.token_id} of {answer.token.subject} was revoked {when}"
    yield from view_remarks(answer.warnings, answer.next_step)


def _purpose(token: TokenRecord) -> str:
    words = [f"{token.subject} as {token.role}"]
    words += [f"of {token.group_id}"] if token.group_id else []
    words += [f"at {token.audience}"] if token.audience else []
    words += [f"until {instant_text(token.expires_at)}"] if token.expires_at else []
    return " ".join(words)


def _standing(token: TokenRecord) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if not token.is_live:
        return "over"
    return f"until {instant_text(token.expires_at)[:10]}" if token.expires_at else "yes"
