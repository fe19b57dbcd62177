"""A store on a server that speaks S3, through pyarrow's own client: all that holds anywhere, and killed processes.

What is needed is installed by the test. Without it this fails, it does not skip.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalframe.cli.run import run
from evalframe.store import Store
from tests.store import s3_server
from tests.store.anywhere import Anywhere, Commands, whole_runs
from tests.store.s3_server import KEY, SECRET
from tests.store.test_many_writers import together
from tests.store.things import predictions, write_run
from tests.store.worker import killed_at

pytestmark = pytest.mark.objects

_number = itertools.count()


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return s3_server.interpreter(tmp_path_factory.mktemp("moto") / "environment")


@pytest.fixture(scope="session")
def address(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server.server(python, tmp_path_factory.mktemp("moto") / "log") as answers:
        yield answers


@pytest.fixture
def uri(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("EVALFRAME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return s3_server.uri(address, f"results/{next(_number)}")


class TestOverS3(Anywhere, Commands):
    """Everything a store does."""


@pytest.fixture
def store(uri: str) -> Store:
    return Store.open(uri, create=True)


def gc_as_a_day_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with monkeypatch.context() as later:
        later.setattr("evalframe.store.journal.TRUSTED_SECONDS", -1.0)
        later.setattr("evalframe.store.collecting.BEGINNING_SECONDS", -1.0)
        return [path for path in store.gc() if not path.endswith(".lease")]


@pytest.mark.parametrize(
    "point", ["writer.begun", "part.write", "part.closed@2", "seal.written", "seal.before_rename", "seal.after_rename"]
)
def test_a_writer_killed_anywhere_leaves_no_half_run(
    store: Store, uri: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(store, "old")
    before = set(store._files.walk())
    assert killed_at(point, uri, "write_run(store, 'new', [1, 2, 3, 4])")
    after = Store.open(uri)
    sealed = point == "seal.after_rename"
    assert whole_runs(after) == ({"old": 3, "new": 4} if sealed else {"old": 3})
    assert after.verify().to_pylist() == []
    left = set(after._files.walk()) - before
    assert after.gc() == []  # nobody can tell yet that it is dead
    removed = set(gc_as_a_day_later(after, monkeypatch))
    assert {path for path in removed if not path.startswith(".writers/")} == (
        set() if sealed else {path for path in left if path.endswith(".parquet")}
    )
    assert before <= set(after._files.walk())
    assert after.verify().to_pylist() == []
    # A seal's claim outlives its writer: the next one watches it for a while before it goes on.
    monkeypatch.setattr("evalframe.store.remote.LEASE_SECONDS", 0.1)
    assert write_run(after, "new", [1, 2, 3, 4]) == ("unchanged" if sealed else "written")


def test_a_writer_killed_in_the_middle_of_an_upload_leaves_nothing_to_see(
    store: Store, uri: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(store._files.walk())
    many = "__import__('random').Random(0).choices(range(1 << 60), k=1 << 21)"  # 16 MB that do not compress
    rows = f"table('class_predictions', 1 << 21, run_id='big', item_index={many})"
    facts = "system='wisp', dataset_id=None, inputs={}"
    assert killed_at("part.write@600", uri, f"store.write_run('big', tables={{'class_predictions': {rows}}}, {facts})")
    assert s3_server.uploads(address) > 0  # for the bucket's own rules to end
    assert [path for path in store._files.walk() if path not in before and "/part_run=" in path] == []
    assert store.run_ids() == []
    assert gc_as_a_day_later(store, monkeypatch) != []
    assert sorted(store._files.walk()) == before


def test_of_two_processes_with_different_contents_exactly_one_stands(store: Store, uri: str) -> None:
    works = [[f"write_run(store, 'run', [{number}], inputs={{'sha256': '{number}'}})"] for number in range(3)]
    outcomes = [answer for (answer,) in together(uri, *works)]
    refused = [answer for answer in outcomes if isinstance(answer, dict)]
    assert [answer["code"] for answer in refused] == ["EF310"] * 2
    winner = outcomes.index("written")
    assert store.run("run").inputs == {"sha256": str(winner)}
    assert store.read("class_predictions").equals(predictions("run", [winner]))
    assert store.verify().to_pylist() == []
    assert store.gc() == []


def test_readers_collectors_and_writers_at_once(store: Store, uri: str) -> None:
    def writer(name: int) -> list[str]:
        steps = [("write_run(store, '{0}-{1}', list(range(50)))", "write_results(store, '{0}-{1}')")] * 3
        return [step.format(name, number) for number, pair in enumerate(steps) for step in pair]

    look = "[store.verify().to_pylist(), sizes(store)]"
    outcomes = together(uri, writer(0), writer(1), [look] * 3, ["store.gc()"] * 4, ["store.compact() >= 0"] * 2)
    assert {answer for answers in outcomes[:2] for answer in map(str, answers)} == {"written"}
    assert [answer for answer in outcomes[2] if answer not in ([[], []], [[], [50]])] == []
    assert [answer for answer in outcomes[3] if answer] == []
    assert len(store.run_ids()) == 6
    assert store.read("metric_values").num_rows == 6
    assert store.verify().to_pylist() == []


@pytest.mark.parametrize(
    ("where", "code"),
    [("nobody answers", "EF302"), ("no bucket", "EF303"), ("refused", "EF304")],
)
@pytest.mark.parametrize("command", ["runs", "score"])
def test_trouble_is_four_lines_without_credentials(
    where: str,
    code: str,
    command: str,
    address: str,
    python: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("EVALFRAME_CACHE", str(tmp_path / "cache"))
    words = ["runs"]
    if command == "score":
        from evalframe.verbs.demo_data import windows

        (tmp_path / "a.npz").write_bytes(windows(skill=0.7, seed=1))
        words = ["wisp", "score", "--predictions", str(tmp_path / "a.npz"), "--output", str(tmp_path / "a.json")]
    if where == "nobody answers":
        said = _said([*words, "--store", s3_server.uri("127.0.0.1:1", "results")], capsys)
    elif where == "no bucket":
        said = _said([*words, "--store", s3_server.uri(address, "results", bucket="elsewhere")], capsys)
    else:
        with s3_server.server(python, tmp_path / "log", INITIAL_NO_AUTH_ACTION_COUNT="1") as strict:
            said = _said([*words, "--store", s3_server.uri(strict, "results")], capsys)
    assert said.startswith(code)
    assert not (tmp_path / "a.json").exists()


def _said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert len(err.strip().splitlines()) == 4, err
    for secret in (KEY, SECRET, SECRET.replace("/", "%2F"), "endpoint_override"):
        assert secret not in out + err
    return err
