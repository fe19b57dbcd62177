"""The store: runs and results in a folder or on an object store, each sealed by a manifest written last."""

from evalframe.store.seals import RecordSeal, ResultSeal, RunSeal, SealedFile
from evalframe.store.store import Store

__all__ = ["RecordSeal", "ResultSeal", "RunSeal", "SealedFile", "Store"]
