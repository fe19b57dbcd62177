"""An S3 server for tests: moto, in an environment of its own, on loopback. It speaks S3 over HTTP to any client."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEY, SECRET = "AKIAEXAMPLE", "open/sesame"
BUCKET = "bucket"


def interpreter(folder: Path) -> str:
    """One that has moto: EVALFRAME_MOTO_PYTHON, or an environment made in `folder`."""
    if given := os.environ.get("EVALFRAME_MOTO_PYTHON"):
        return given
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    wanted = ["moto[s3]>=5", "flask", "flask-cors"]  # moto[server] brings every other service too
    subprocess.run([str(folder / "bin/pip"), "install", "-q", *wanted], check=True, stdout=subprocess.DEVNULL)
    return str(folder / "bin/python")


@contextmanager
def server(python: str, log: Path, **settings: str) -> Iterator[str]:
    """`HOST:PORT` of a server with one empty bucket. settings: environment variables of moto."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [python, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, **settings})
    try:
        address = f"127.0.0.1:{port}"
        _wait(process, address, log)
        yield address
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Until the bucket could be made."""
    make = urllib.request.Request(f"http://{address}/{BUCKET}", method="PUT")
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(make, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"the S3 server did not start:\n{log.read_text()}")


def uri(address: str, folder: str, bucket: str = BUCKET) -> str:
    """A store's URI with everything in it that can be: the credentials too."""
    return (
        f"s3://{KEY}:{SECRET.replace('/', '%2F')}@{bucket}/{folder}"
        f"?scheme=http&endpoint_override={address}&region=us-east-1"
    )


def uploads(address: str) -> int:
    """How many uploads were begun and not ended."""
    with urllib.request.urlopen(f"http://{address}/{BUCKET}?uploads", timeout=10) as answer:
        return int(answer.read().count(b"<UploadId>"))
