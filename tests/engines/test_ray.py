"""Ray on a cluster of three nodes: the values of one engine, also when tasks fail and a node is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalframe.cli.run import run
from evalframe.engines import ray as module
from evalframe.engines.choosing import Choice, open_engine, using
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.grouped import Work
from evalframe.engines.ray import Ray
from evalframe.engines.splitting import Group
from evalframe.errors import EngineError, EngineUnreachable, ExitCode, UsageError
from evalframe.relations import Plan
from evalframe.verbs import demo_data
from tests.engines.systems import LABELS, System, system

pytestmark = [
    pytest.mark.ray,
    # Ray leaves sockets and log files to the garbage collector when a cluster goes.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
_NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False, "node_ip_address": "127.0.0.1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes of one core each, on the loopback alone."""
    library = module.library(alone=True)
    from ray.cluster_utils import Cluster

    # Nobody waits long for a node that is gone.
    eager = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 250, "health_check_failure_threshold": 2}
    made = Cluster(initialize_head=True, head_node_args={**_NODE, "_system_config": eager})
    for _ in range(2):
        made.add_node(**{name: value for name, value in _NODE.items() if name != "include_dashboard"})
    yield made
    library.shutdown()
    made.shutdown()


def one_engine(one: System, wanted: Plan) -> dict[str, pa.Table]:
    with DuckDB(threads=1) as record:
        return one.asked(record, wanted)


def assert_equal(found: Mapping[str, pa.Table], expected: Mapping[str, pa.Table]) -> None:
    assert list(found) == list(expected)
    for name, table in expected.items():
        assert found[name].equals(table), name


@pytest.mark.parametrize("label", LABELS)
def test_scores_and_states_per_cluster_are_those_of_one_engine(cluster: Any, label: str) -> None:
    one = system(label)
    with Ray(cluster.address) as engine:
        for wanted in (one.plan(), one.per_cluster()):
            assert_equal(one.asked(engine, wanted), one_engine(one, wanted))


def acting(act: Callable[[Callable[..., Any], Sequence[Any]], Any]) -> type[Ray]:
    """Ray whose tasks are done by `act`, which is sent to the nodes as it stands."""
    done = module._task

    class Acting(Ray):
        _task = staticmethod(lambda *given: act(done, given))

    return Acting


def test_a_task_that_fails_once_is_tried_again(cluster: Any, tmp_path: Path) -> None:
    def fail_first(done: Callable[..., Any], given: Sequence[Any]) -> Any:
        try:
            os.close(os.open(tmp_path / "tried", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return done(*given)
        raise OSError("the disk went away")

    one = system("wisp-har/1")
    with acting(fail_first)(cluster.address) as engine:
        found = one.asked(engine, one.plan())
    assert (tmp_path / "tried").exists()
    assert_equal(found, one_engine(one, one.plan()))


def test_a_task_that_always_fails_is_an_error_of_four_lines(cluster: Any) -> None:
    def fail(done: Callable[..., Any], given: Sequence[Any]) -> Any:
        raise ValueError("a bad node")

    one = system("wisp-har/1")
    with acting(fail)(cluster.address) as engine, pytest.raises(EngineError, match="could not be answered") as caught:
        one.asked(engine, one.plan())
    assert "ValueError: a bad node" in caught.value.found
    assert len(str(caught.value).splitlines()) == 4


def test_our_own_errors_come_back_as_they_were_raised(cluster: Any, tmp_path: Path) -> None:
    def blind(done: Callable[..., Any], given: Sequence[Any]) -> Any:
        raise UsageError("no", expected="a", found="b", hint="c")

    one = system("wisp-har/1")
    with acting(blind)(cluster.address) as engine, pytest.raises(UsageError, match="no"):
        one.asked(engine, one.plan())


def test_a_node_that_is_lost_costs_its_tasks_only(cluster: Any, tmp_path: Path) -> None:
    extra = cluster.add_node(**{name: value for name, value in _NODE.items() if name != "include_dashboard"})
    cluster.wait_for_nodes()

    lost = extra.node_id

    def held_there(done: Callable[..., Any], given: Sequence[Any]) -> Any:
        """On the node that is lost a task never ends, and no other one does before it has begun."""
        import time

        import ray

        node = ray.get_runtime_context().get_node_id()
        (tmp_path / f"{node}-{time.monotonic_ns()}").touch()
        while node == lost or not any(path.name.startswith(lost) for path in tmp_path.iterdir()):
            time.sleep(0.05)
        return done(*given)

    class Losing(acting(held_there)):  # type: ignore[misc]
        lost = False

        def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
            assert len(groups) >= 12
            for answered in super()._answers(work, groups):
                if not self.lost:
                    cluster.remove_node(extra, allow_graceful=False)
                    self.lost = True
                yield answered

    one = system("easycom-floor-pre-boundary/1")
    with Losing(cluster.address, rows_of_a_group=40) as engine:
        found = one.asked(engine, one.plan())
        assert engine.lost
    assert_equal(found, one_engine(one, one.plan()))


def test_commands_print_and_store_the_same_with_ray(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: dict[str, list[Any]] = {}
    for name, options in {"duckdb": [], "ray": ["--engine", "ray", "--ray-address", cluster.address]}.items():
        store = str(tmp_path / name)
        for seed, model in enumerate(("cnn", "gru")):
            (tmp_path / f"{model}.npz").write_bytes(demo_data.windows(skill=0.7, seed=seed))
            scored = ["wisp", "score", "--predictions", str(tmp_path / f"{model}.npz"), "--store", store]
            out = tmp_path / f"{name}-{model}.json"
            assert run([*scored, "--output", str(out), "--json", *options]) == ExitCode.OK
        compared = ["compare", "--store", store, "--baseline", "cnn", "--candidate", "gru", "--replicates", "200"]
        assert run([*compared, "--json", *options]) == ExitCode.OK
        assert run(["rescore", "--store", store, "--json", *options]) == ExitCode.OK
        text = capsys.readouterr().out.replace(store, "")
        decoder, at, printed[name] = json.JSONDecoder(), 0, []
        while at < len(text):
            body, at = decoder.raw_decode(text, at)
            printed[name].append(body)
            at += 1
    assert len(printed["ray"]) == 4
    assert printed["ray"] == printed["duckdb"]


def test_nobody_at_the_address_is_said_at_once(cluster: Any) -> None:
    choice = Choice("ray", ray_address="127.0.0.1:1")
    with using(choice), pytest.raises(EngineUnreachable, match="no Ray cluster answers") as caught:
        open_engine()
    assert "127.0.0.1:1" in caught.value.where


def test_one_process_is_part_of_one_cluster(cluster: Any) -> None:
    with Ray(cluster.address), pytest.raises(UsageError, match="part of another Ray cluster"):
        module._connect(module.library(alone=True), "localhost:" + cluster.address.rpartition(":")[2])
