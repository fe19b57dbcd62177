"""An object store in memory, behind the interface of pyarrow.fs: no folders, no rename, a file is there once closed."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, FileType, PyFileSystem

BUCKET = "bucket"
SECRET = "sesame"
URI = f"s3://somebody:{SECRET}@memory/results?endpoint_override={SECRET}"
SHOWN = "s3://memory/results"


class Objects(FileSystemHandler):
    """before: called with what is to be done and the key, so that a test can fail it or do something meanwhile.

    begins_empty: whether a file is there, without content, from when it is opened.
    """

    def __init__(self, *, begins_empty: bool = False) -> None:
        self.begins_empty = begins_empty
        self.kept: dict[str, tuple[bytes, float]] = {}
        self.before: Callable[[str, str], None] = lambda doing, key: None

    def copy(self) -> Objects:
        """As it is now."""
        other = Objects()
        other.kept = dict(self.kept)
        return other

    def put(self, key: str, content: bytes) -> None:
        """Keep a whole object, at once."""
        self.before("put", key)
        self.kept[key] = (content, time.time())

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def get_type_name(self) -> str:
        return "objects"

    def normalize_path(self, path: str) -> str:
        return path

    def _info(self, path: str) -> FileInfo:
        self.before("head", path)
        if path in self.kept:
            content, at = self.kept[path]
            return FileInfo(path, FileType.File, size=len(content), mtime=at)
        is_folder = path == BUCKET or any(key.startswith(f"{path}/") for key in list(self.kept))
        return FileInfo(path, FileType.Directory if is_folder else FileType.NotFound)

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        self.before("list", selector.base_dir)
        start = f"{selector.base_dir}/"
        found: dict[str, FileInfo] = {}
        for key, (content, at) in list(self.kept.items()):
            if key.startswith(start):
                parts = key.removeprefix(start).split("/")
                for depth in range(1, len(parts)):
                    folder = start + "/".join(parts[:depth])
                    found[folder] = FileInfo(folder, FileType.Directory)
                found[key] = FileInfo(key, FileType.File, size=len(content), mtime=at)
        return [info for path, info in found.items() if selector.recursive or "/" not in path.removeprefix(start)]

    def open_input_stream(self, path: str) -> pa.PythonFile:
        self.before("get", path)
        if path not in self.kept:
            raise FileNotFoundError(path)
        return pa.PythonFile(io.BytesIO(self.kept[path][0]), mode="r")

    open_input_file = open_input_stream

    def open_output_stream(self, path: str, metadata: object) -> pa.PythonFile:
        if self.begins_empty:
            self.kept[path] = (b"", time.time())
        return pa.PythonFile(_Upload(self, path), mode="w")

    def delete_file(self, path: str) -> None:
        self.before("delete", path)
        if path not in self.kept:
            raise FileNotFoundError(path)
        del self.kept[path]

    def _refuse(self, *_: Any) -> None:
        raise NotImplementedError("an object store cannot do this")

    move = copy_file = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    open_append_stream = _refuse


class _Upload(io.BytesIO):
    def __init__(self, objects: Objects, key: str) -> None:
        super().__init__()
        self._objects, self._key = objects, key

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._objects.put(self._key, content)


def reach(monkeypatch: pytest.MonkeyPatch, cache: Path, **buckets: Objects | FileSystem) -> None:
    """For one test, let URIs such as `s3://user:secret@NAME/folder` mean these."""

    def from_uri(uri: str) -> tuple[FileSystem, str]:
        parts = urlsplit(uri)
        found = buckets[parts.netloc.rpartition("@")[2]]
        return PyFileSystem(found) if isinstance(found, Objects) else found, f"{BUCKET}{parts.path}"

    monkeypatch.setattr("evalframe.store.remote._from_uri", from_uri)
    monkeypatch.setenv("EVALFRAME_CACHE", str(cache))
