"""Errors that several modules raise, and the commands that their hints name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from evalframe.errors import AccessRefused, BucketMissing, StoreCorrupt, StoreError, StoreUnreachable


def command(words: str, root: Path | str) -> str:
    """`evalframe <words> <root>`, to be pasted into a shell."""
    return f"evalframe {words} {shlex.quote(str(root))}"


def changed_file(path: Path | str, root: Path | str, *, expected: str, found: str) -> StoreCorrupt:
    """A sealed file is missing or not the one that was sealed."""
    return StoreCorrupt(
        "a sealed file is not as it was sealed",
        expected=expected,
        found=found,
        where=str(path),
        hint=command("store verify", root),
    )


_TROUBLE: tuple[tuple[type[StoreError], str, str, str], ...] = (
    (
        BucketMissing,
        "no.?such.?bucket|bucket does not exist|container does not exist|container.?not.?found",
        "a bucket or container that exists",
        "name a bucket that exists; evalframe makes none: --store s3://BUCKET/results",
    ),
    (
        AccessRefused,
        "access.?denied|invalid.?access.?key|signature|token|forbidden|permission|unauthenticated|authenticat|authoriz"
        "|credential|anonymous|http.{0,8}40[13]",
        "credentials that may read, list, write and delete there",
        "export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... (or AWS_PROFILE, GOOGLE_APPLICATION_CREDENTIALS)",
    ),
    (
        StoreUnreachable,
        "network.?connection|could.?n.t (?:connect|resolve)|could not (?:connect|resolve)|failed to (?:connect|get)"
        "|fail to get|timed? ?out|timeout|unavailable",
        "an object store that answers",
        "name the server where it is not the usual one: export AWS_ENDPOINT_URL=https://HOST:PORT",
    ),
)
"""What pyarrow.fs has no error number for: class, words by which the kinds of store tell it, expected, hint."""


def remote_trouble(doing: str, where: str, said: str) -> StoreError:
    """What pyarrow.fs reports in words alone, as the error that it is. Nothing that may be a credential is repeated."""
    words = re.sub(r"://[^/@\s]*@", "://", re.sub(r" ?\(Request ID.*", "", said.strip().partition("\n")[0]))
    found = re.search(r"AWS Error .*", words)
    shown = (found[0] if found else words)[:200] or "no reason given"
    for error, pattern, expected, hint in _TROUBLE:
        if re.search(pattern, words, re.IGNORECASE):
            return error(f"{doing} failed", expected=expected, found=shown, where=where, hint=hint)
    return StoreError(
        f"{doing} failed",
        expected="a file system that allows it",
        found=shown,
        where=where,
        hint="run the same command again: what is sealed stays",
    )
