"""What pyarrow.fs reports in words alone, as the typed error that it is. A file system of this machine has numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from evalframe.errors import AccessRefused, BucketMissing, StoreError, StoreUnreachable

_WORDS: tuple[tuple[type[StoreError], str, str], ...] = (
    (
        BucketMissing,
        "a bucket or container that exists",
        "no.?such.?bucket|bucket does not exist|container does not exist|container.?not.?found",
    ),
    (
        StoreUnreachable,
        "an object store that answers",
        "network.?connection|could.?n.t (connect|resolve)|could not (connect|resolve)|failed to connect|timed? ?out"
        "|fail to get a new|timeout|unavailable",
    ),
    (
        AccessRefused,
        "credentials that may read, list, write and delete there",
        "access.?denied|access.?key|signature|token|forbidden|permission|authenticat|authoriz|credential"
        "|http.{0,8}40[13]",
    ),
)
"""Class, what was expected, and words by which one kind of object store or another tells it; the first that fits."""

_HINTS: dict[tuple[type[StoreError], str], str] = {
    (StoreUnreachable, "s3"): "export AWS_ENDPOINT_URL=https://HOST:PORT, where the server is not Amazon's",
    (AccessRefused, "s3"): "export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=..., or AWS_PROFILE=...",
    (AccessRefused, "gs"): "export GOOGLE_APPLICATION_CREDENTIALS=FILE.json",
    (AccessRefused, "gcs"): "export GOOGLE_APPLICATION_CREDENTIALS=FILE.json",
    (AccessRefused, "abfs"): "az login",
    (AccessRefused, "abfss"): "az login",
}
_MAKE_IT = "make it with the tools of the object store, then run the same command again"
_AGAIN = "run the same command again: what is sealed stays"


def remote_trouble(doing: str, where: str, said: str) -> StoreError:
    """The error for what was `said` while doing something at `where`. What may be a credential is not repeated."""
    words = re.sub(r" ?\(Request ID.*| error_info=.*", "", said.strip().partition("\n")[0])
    words = re.sub(r"://[^/@\s]*@", "://", words)
    found = re.search(r"AWS Error .*", words)
    shown = (found[0] if found else words)[:200] or "no reason given"
    for error, expected, pattern in _WORDS:
        if re.search(pattern, words, re.IGNORECASE):
            hint = _MAKE_IT if error is BucketMissing else _HINTS.get((error, where.partition(":")[0]), _AGAIN)
            return error(f"{doing} failed", expected=expected, found=shown, where=where, hint=hint)
    return StoreError(f"{doing} failed", expected="a file system that allows it", found=shown, where=where, hint=_AGAIN)


@contextmanager
def as_os_error() -> Iterator[None]:
    """Some of pyarrow's file systems report trouble as errors of Arrow, not of the operating system."""
    try:
        yield
    except OSError:
        raise
    except pa.ArrowException as failure:
        raise OSError(str(failure)) from failure
