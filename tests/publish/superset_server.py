"""Superset for one test session: installed into an environment of its own, started on loopback, gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

_HERE = Path(__file__).resolve().parent
_STARTING_SECONDS = 240.0


@dataclass(frozen=True)
class Server:
    """A running Superset. token: of an admin whose name and password are `admin`."""

    address: str
    token: str = ""

    def ask(self, path: str, body: Any = None) -> Any:
        """What the API answers to GET, or to POST of a JSON body."""
        data = None if body is None else json.dumps(body).encode()
        return self._answer(path, data, "application/json")

    def count(self, kind: str) -> int:
        """How many dashboards, charts, datasets or databases there are."""
        return int(self.ask(f"/api/v1/{kind}/")["count"])

    def rows(self, dataset: str, columns: list[str], metrics: list[str], **more: Any) -> list[dict[str, Any]]:
        """Rows of one dataset, grouped by `columns`, as a chart gets them."""
        query = quote(f"(filters:!((col:table_name,opr:eq,value:'{dataset}')))")
        (found,) = self.ask(f"/api/v1/dataset/?q={query}")["result"]
        asked = {"columns": columns, "metrics": metrics, "filters": [], "row_limit": 50_000, **more}
        source = {"id": found["id"], "type": "table"}
        body = {"datasource": source, "queries": [asked], "result_format": "json", "result_type": "full"}
        rows: list[dict[str, Any]] = self.ask("/api/v1/chart/data", body)["result"][0]["data"]
        return rows

    def import_dashboard(self, path: Path) -> None:
        """Import a ZIP as the button of the page does."""
        mark = uuid.uuid4().hex
        field = f'--{mark}\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
        head = (field % ("formData", '; filename="bundle.zip"\r\nContent-Type: application/zip')).encode()
        tail = "\r\n" + field % ("overwrite", "") + "true\r\n" + field % ("passwords", "") + f"{{}}\r\n--{mark}--\r\n"
        data = head + path.read_bytes() + tail.encode()
        self._answer("/api/v1/dashboard/import/", data, f"multipart/form-data; boundary={mark}")

    def _answer(self, path: str, data: bytes | None, kind: str) -> Any:
        said = {"Content-Type": kind, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        request = urllib.request.Request(self.address + path, data, said)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode(errors='replace')[:2000]}") from error


@contextmanager
def server(home: Path) -> Iterator[Server]:
    """Install, prepare and start; whatever fails says so with the end of its log. The process group is killed."""
    python = os.environ.get("EVALFRAME_SUPERSET_PYTHON") or _installed(home / "superset")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables |= {"SUPERSET_HOME": str(home), "SUPERSET_CONFIG_PATH": str(_HERE / "superset_config.py")}
    variables["TZ"] = "UTC"
    _run(home / "prepare.log", variables, python, str(_HERE / "superset_prepare.py"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    threads = ("-w", "1", "-k", "gthread", "--threads", "8", "--timeout", "120")
    command = [python, "-m", "gunicorn", *threads, "-b", f"127.0.0.1:{port}", "superset.app:create_app()"]
    log = home / "server.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            command, cwd=home, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield _once_it_answers(Server(f"http://127.0.0.1:{port}"), started, log)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def _installed(folder: Path) -> str:
    """The interpreter of a new environment. uv takes a fifth of pip's time; pip where it cannot be had."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin/python")
    wanted = ["-r", str(_HERE / "superset_requirements.txt"), "-c", str(_HERE / "superset_constraints.txt")]
    pip = [python, "-m", "pip", "install", "-q", "--no-cache-dir"]
    quick = [str(folder / "bin/uv"), "pip", "install", "-q", "--no-cache", "--python", python, *wanted]
    if subprocess.run([*pip, "uv"], check=False).returncode or subprocess.run(quick, check=False).returncode:
        subprocess.run([*pip, "--no-compile", *wanted], check=True)
    return python


def _run(log: Path, variables: dict[str, str], *command: str) -> None:
    with log.open("wb") as output:
        done = subprocess.run(command, env=variables, stdout=output, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, log.read_text(errors="replace")[-4000:]


def _once_it_answers(bare: Server, started: subprocess.Popen[bytes], log: Path) -> Server:
    until = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < until and started.poll() is None:
        try:
            urllib.request.urlopen(f"{bare.address}/health", timeout=60).close()
        except OSError:
            time.sleep(0.3)
            continue
        known = {"username": "admin", "password": "admin", "provider": "db"}
        return Server(bare.address, bare.ask("/api/v1/security/login", known)["access_token"])
    raise AssertionError(f"Superset did not start:\n{log.read_text(errors='replace')[-4000:]}")
