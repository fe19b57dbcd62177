"""What a store elsewhere says and leaves when it cannot be reached, is not let in, or is not as it was sealed."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.cli.run import run
from evalframe.errors import AccessRefused, StoreCorrupt, StoreError, StoreUnreachable, UsageError
from evalframe.store import Store
from evalframe.store.journal import writers
from evalframe.store.trouble import remote_trouble
from tests.store.anywhere import whole_runs
from tests.store.objects import BUCKET, SECRET, SHOWN, URI, Objects
from tests.store.things import write_results, write_run


@pytest.fixture
def store(objects: Objects) -> Store:
    return Store.open(URI, create=True)


@pytest.mark.parametrize("for_good", [True, False])
def test_a_connection_that_breaks_at_any_request_leaves_a_sound_store(
    store: Store, objects: Objects, monkeypatch: pytest.MonkeyPatch, for_good: bool
) -> None:
    write_run(store, "old")
    number = 0
    outcome = ""
    while outcome != "written":
        left = number

        def before(doing: str, key: str) -> None:
            nonlocal left
            left -= 1
            if left < 0 and (for_good or left == -1):
                raise OSError(f"When doing {doing} for {key}: AWS Error NETWORK_CONNECTION during {doing} operation")

        objects.before = before
        try:
            outcome = write_run(Store(URI), f"run{number}")
        except StoreError as trouble:
            outcome = trouble.code
        objects.before = lambda *_: None
        assert outcome in ("written", "EF302")
        assert set(whole_runs(Store.open(URI)).values()) == {3}
        assert store.verify().to_pylist() == []
        number += 1
    assert number > 10
    monkeypatch.setattr("evalframe.store.journal.TRUSTED_SECONDS", 0.0)
    store.gc()
    assert store.verify().to_pylist() == []
    assert set(whole_runs(Store.open(URI)).values()) == {3}


def test_a_seal_that_comes_after_its_writer_gave_up_finds_its_files(store: Store, objects: Objects) -> None:
    def put(key: str, content: bytes) -> None:
        if "/.seals/runs/" in key:
            late.append((key, content))
            raise OSError("AWS Error NETWORK_CONNECTION during PutObject operation: timed out")
        at_once(key, content)

    late: list[tuple[str, bytes]] = []
    at_once, objects.put = objects.put, put  # type: ignore[method-assign]
    with pytest.raises(StoreUnreachable, match="sealing failed"):
        write_run(store, "a")
    assert store.run_ids() == []
    at_once(*late[0])
    assert whole_runs(Store.open(URI)) == {"a": 3}
    assert store.verify().to_pylist() == []


def test_who_may_only_read_reads(store: Store, objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(store, "a")
    monkeypatch.setattr("evalframe.store.store.COMPACT_AT", 1)
    tried: list[str] = []

    def before(doing: str, key: str) -> None:
        if doing in ("put", "delete"):
            tried.append(key)
            raise OSError("AWS Error ACCESS_DENIED during PutObject operation: Access Denied")

    objects.before = before
    reader = Store.open(URI)
    assert reader.run_ids() == ["a"]
    assert tried  # to compact, which only saves time
    assert reader.read("class_predictions").num_rows == 3
    with pytest.raises(AccessRefused):
        write_run(reader, "b")


def test_trouble_in_arrows_own_words_is_trouble_too(store: Store, objects: Objects) -> None:
    def before(doing: str, key: str) -> None:
        raise pa.ArrowException("Unknown error: Failed to get token from DefaultAzureCredential")

    objects.before = before
    for ask in (store.run_ids, lambda: write_run(store, "a"), lambda: Store.open(URI), store.verify, store.gc):
        with pytest.raises(AccessRefused):
            ask()


def test_a_store_is_copied_from_a_folder_with_any_tool(store: Store, objects: Objects, tmp_path: Path) -> None:
    folder = Store.open(tmp_path / "store", create=True, durable=False)
    for number in range(3):
        write_run(folder, f"run {number}")
        write_results(folder, f"run {number}")
    folder.compact()
    objects.kept.clear()
    for path in folder._files.walk():
        objects.put(f"{BUCKET}/results/{path}", folder._files.read(path))
    copied = Store.open(URI)
    assert copied.runs().equals(folder.runs())
    assert copied.read("metric_values").equals(folder.read("metric_values"))
    assert copied.verify().to_pylist() == []
    assert write_run(copied, "run 0") == "unchanged"


def test_a_cache_that_cannot_be_written_is_named(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_run(store, "a")
    (tmp_path / "a file").write_text("not a folder")
    monkeypatch.setenv("EVALFRAME_CACHE", str(tmp_path / "a file"))
    with pytest.raises(StoreError, match="cannot be copied to this machine") as refused:
        Store.open(URI).read("class_predictions")
    assert refused.value.where == str(tmp_path / "a file")


def test_a_copy_that_does_not_match_its_seal_is_refused(store: Store, objects: Objects) -> None:
    write_run(store, "a")
    (key,) = [key for key in objects.kept if "/class_predictions/" in key]
    content, at = objects.kept[key]
    objects.kept[key] = (content[:-1] + b"?", at)
    with pytest.raises(StoreCorrupt, match="not as it was sealed"):
        store.read("class_predictions")
    del objects.kept[key]
    with pytest.raises(StoreCorrupt) as refused:
        store.read("class_predictions")
    assert refused.value.found == "no file"
    objects.kept[key] = (content, at)
    assert store.read("class_predictions").num_rows == 3


def test_what_was_copied_once_is_not_asked_for_again(store: Store, objects: Objects) -> None:
    write_run(store, "a")
    store.read("class_predictions")
    asked: list[tuple[str, str]] = []
    objects.before = lambda doing, key: asked.append((doing, key))
    assert Store.open(URI).read("class_predictions").num_rows == 3
    assert asked
    assert not [key for doing, key in asked if doing == "get"]
    assert Store.open(URI).verify().num_rows == 0
    assert (
        len([key for doing, key in asked if doing == "get"]) == len(objects.kept) - 1
    )  # where it lies, all but a mark


def test_a_file_that_goes_while_it_is_opened_is_missing_and_no_trouble(store: Store, objects: Objects) -> None:
    def before(doing: str, key: str) -> None:
        if doing == "get":
            objects.before = lambda *_: None
            objects.kept.pop(key, None)
            raise OSError("AWS Error INTERNAL_FAILURE during GetObject operation: Failed to flush response stream")

    store._files.write(".writers/gone.json", b"{}")
    objects.before = before
    assert writers(store._files) == []


def test_a_server_that_lets_nobody_in_without_a_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(403)
            self.end_headers()

        do_GET = do_PUT = do_POST = do_HEAD  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("EVALFRAME_CACHE", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        asked = ["runs", "--store", f"s3://bucket/results?scheme=http&endpoint_override={place}&region=us-east-1"]
        assert run(asked) == 2
        server.shutdown()
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "EF304 looking up failed (s3://bucket/results/.seals/lock)"
    assert len(said) == 4
    assert "AWS_ACCESS_KEY_ID" in said[3]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("When getting information for key 'a' in bucket 'b': AWS Error NETWORK_CONNECTION during HeadObject operation:"
         " curlCode: 7, Could not connect to server", "EF302"),
        ("When resolving region for bucket 'b': AWS Error NETWORK_CONNECTION during HeadBucket operation: curlCode: 6,"
         " Could not resolve hostname", "EF302"),
        ("google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of PerformWork()", "EF302"),
        ("When initiating multiple part upload for key 'a' in bucket 'b': AWS Error NO_SUCH_BUCKET during"
         " CreateMultipartUpload operation: The specified bucket does not exist (Request ID: X)", "EF303"),
        ("ListBlobsByHierarchy failed: The specified container does not exist.", "EF303"),
        ("When getting information for key 'a' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject operation: No"
         " response body.", "EF304"),
        ("AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation: The AWS Access Key Id you provided does not"
         " exist in our records.", "EF304"),
        ("Check for Hierarchical Namespace support on 'https://account.blob.core.windows.net/c' failed:"
         " N5Azure4Core11Credentials23AuthenticationExceptionE: Failed to get token from Default", "EF304"),
        ("google::cloud::Status(UNAUTHENTICATED: Could not create a OAuth2 access token", "EF304"),
        ("AWS Error SLOW_DOWN during PutObject operation: Please reduce your request rate.", "EF301"),
    ],
)  # fmt: skip
def test_trouble_has_a_type(said: str, code: str) -> None:
    error = remote_trouble("reading", SHOWN, f"{said}\nmore lines at s3://somebody:{SECRET}@b")
    assert (error.code, error.exit_code, error.where) == (code, 2, SHOWN)
    assert SECRET not in str(error.to_json())
    assert "Request ID" not in error.found


@pytest.mark.parametrize(
    "uri",
    [
        f"ftp://u:{SECRET}@host/x", f"s3://u:{SECRET}@bucket/x?no_such_option={SECRET}", f"s3://u:{SECRET}@",
        "file://elsewhere/x", f"s3://u:{SECRET}@[bucket/x",
    ],
)  # fmt: skip
def test_a_uri_that_cannot_be_used_is_four_lines_without_its_secrets(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["runs", "--store", uri]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 4
    assert said.startswith("EF101 ")
    assert SECRET not in said


def test_a_uri_in_a_path_is_refused_rather_than_made_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="cannot lie there"):
        Store.open(Path("s3://bucket/results"), create=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_uri_is_the_folder_itself(tmp_path: Path) -> None:
    store = Store.open(f"file://{tmp_path}/a%20store", create=True)
    write_run(store, "a")
    assert Store.open(tmp_path / "a store").run_ids() == ["a"]
    assert store.path == tmp_path / "a store"
