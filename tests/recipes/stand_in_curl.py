"""Stands in for curl on a machine that has none: the flags of our pages, and no more. Must not know what is sent."""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request


def main() -> int:
    """Send the request; print the answer, also a refusal; return curl's exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("--silent", "--show-error", "--fail-with-body", "--retry-connrefused"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--retry", type=int, default=0)
    parser.add_argument("--max-time", type=float)
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--data")
    parser.add_argument("url")
    asked = parser.parse_args()
    headers = dict(line.split(": ", 1) for line in asked.header)
    body = None if asked.data is None else asked.data.encode()
    request = urllib.request.Request(asked.url, body, headers)  # noqa: S310 - the page's own server
    try:
        with urllib.request.urlopen(request, timeout=asked.max_time) as answer:  # noqa: S310 - as above
            sys.stdout.buffer.write(answer.read())
    except urllib.error.HTTPError as refused:
        sys.stdout.buffer.write(refused.read())
        return 22 if asked.fail_with_body else 0
    except OSError as failed:
        sys.stderr.write(f"curl: {failed}\n")
        return 7
    return 0


if __name__ == "__main__":
    sys.exit(main())
