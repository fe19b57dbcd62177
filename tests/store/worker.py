"""A process of its own that works on a store: `python worker.py FOLDER_OR_URI STEP...`, with EVALFRAME_FAULT as given.

Steps are Python calls on `store`, such as `write_run(store, 'a')`; the value of each is printed as a line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(folder: Path | str, *steps: str, fault: str = "") -> subprocess.Popen[str]:
    """Begin the steps in a process of their own."""
    environment = {**os.environ, "EVALFRAME_FAULT": fault, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-B", str(Path(__file__)), str(folder), *steps]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[object]:
    """What its steps returned. Fails when it did."""
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def killed_at(fault: str, folder: Path | str, *steps: str) -> bool:
    """Run the steps with a fault that kills; whether it did."""
    process = start(folder, *steps, fault=fault)
    _, err = process.communicate(timeout=600)
    assert process.returncode in (0, -signal.SIGKILL), err
    return process.returncode != 0


def main() -> None:
    """Do the steps, one after the other."""
    import tests.store.things as things
    from evalframe.errors import EvalframeError
    from evalframe.store import Store

    store = Store.open(sys.argv[1], create=True)
    names = {**vars(things), "store": store}
    for step in sys.argv[2:]:
        try:
            answer = eval(step, names)
        except EvalframeError as error:
            answer = error.to_json()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
