"""Every error a user can meet: one hierarchy, a stable code, an exit code, four lines.

A user error says what went wrong, what was expected, what was found and what to do next. It never shows a traceback
and leaves nothing half-written. Library callers get the same object with the parts as attributes.
"""

from __future__ import annotations

from evalframe.failure import EvalframeError as EvalframeError
from evalframe.failure import ExitCode as ExitCode
from evalframe.failure import harmless_json as harmless_json
from evalframe.failure import printable as printable

# ---- EF1xx: usage and unreadable input (exit 2) ---------------------------------------------------------------------


class UsageError(EvalframeError):
    """The command was called with options that cannot be meant."""

    code = "EF101"


class InputError(EvalframeError):
    """A file is missing, truncated or not what its name says."""

    code = "EF110"


class FileUnreadable(InputError):
    """A file is missing, cut off, or not of the format its name says."""

    code = "EF111"


class FileFormatUnknown(InputError):
    """A file whose name says no format that is read."""

    code = "EF112"


class HeaderUnclear(InputError):
    """A text table whose first line does not name each column once."""

    code = "EF113"


class ArchiveRefused(InputError):
    """An NPZ archive is damaged, asks for more than its limits, or would have to be unpickled."""

    code = "EF114"


class MissingField(InputError):
    """A file lacks a column or array that is needed under the name that was asked for."""

    code = "EF115"


class CheckpointRefused(InputError):
    """A checkpoint is damaged, asks for more than its limits, or could run code when it is loaded."""

    code = "EF116"


class MetadataRefused(InputError):
    """A checkpoint does not say, or not clearly, what it takes and yields."""

    code = "EF117"


class TorchMissing(UsageError):
    """A checkpoint is to be loaded and torch is not installed."""

    code = "EF104"


class ExtraMissing(UsageError):
    """A command needs an optional package that is not installed."""

    code = "EF105"


class UnknownName(UsageError):
    """A metric, table, protocol, run or parameter that does not exist."""

    code = "EF102"


class SessionNameRefused(UsageError):
    """A session name that would be another path than a file of its own."""

    code = "EF150"


class SessionMissing(InputError):
    """A session was named that the data set, or a run, has no file for."""

    code = "EF151"


class RunNamesDiffer(UsageError):
    """Two options must name the same runs and do not."""

    code = "EF152"


class RecallRefused(UsageError):
    """A wanted recall that is not a plain decimal over 0 and at most 1, or that is named twice."""

    code = "EF153"


class SavedDatasetRefused(InputError):
    """A folder that is not a data set written by `save_to_disk`, or not in a state that can be read in order."""

    code = "EF170"


class RegistryRefused(InputError):
    """A task registry that is not lists of tasks by split."""

    code = "EF171"


class PredictorRefused(UsageError):
    """`--predictor` names nothing that makes a predictor."""

    code = "EF172"


class CheckpointMissing(InputError):
    """A folder that a model should be read from is not there."""

    code = "EF173"


class FoldsRefused(UsageError):
    """A cross-fitting file in which a session is evaluated twice, or never."""

    code = "EF154"


class TurnsRefused(InputError):
    """Turns that cannot be read: a broken line, a name that is no time, an interval that ends before it starts."""

    code = "EF155"


class RowTooLong(InputError):
    """One row of a JSON file is longer than any row can be meant to be."""

    code = "EF160"


class DatabaseRefused(InputError):
    """A database to export into cannot be reached or does not take what it is given."""

    code = "EF180"


# ---- EF2xx: contracts (exit 4) --------------------------------------------------------------------------------------


class ContractError(EvalframeError):
    """Data breaks the contract of its table."""

    code = "EF201"
    exit_code = ExitCode.CONTRACT


class ContractFileError(ContractError):
    """A file in data_contracts/ is not of the form that is read."""

    code = "EF202"


class LabelRefused(ContractError):
    """A class is not one of the vocabulary, or the vocabulary itself is not a list of distinct names."""

    code = "EF210"


class DuplicateItem(ContractError):
    """An id that names one item stands in two rows."""

    code = "EF211"


class CheckpointMismatch(ContractError):
    """A checkpoint and the data it is to predict do not fit: classes, shapes, what comes out of it."""

    code = "EF212"


class InventoryRefused(ContractError):
    """An inventory of models, a frozen catalogue or a list of errata that cannot be meant."""

    code = "EF213"


class TargetRefused(ContractError):
    """A target array that is not rows of exactly 0 and 1 in three columns."""

    code = "EF220"


class FramesRefused(ContractError):
    """Frames that are not (N, H, W, 3) bytes, or not as many as the trajectory has targets."""

    code = "EF240"


class SelectionDiffers(ContractError):
    """The data set does not hold exactly the rows that the protocol selects."""

    code = "EF241"


class PoolTooSmall(ContractError):
    """A query task has fewer candidates than filtering keeps."""

    code = "EF242"


class ForecastRefused(ContractError):
    """Forecasts of another shape than their target, or a valid one outside [0, 1]."""

    code = "EF221"


class IntervalsRefused(ContractError):
    """Segments or annotated intervals that overlap, are empty, leave the session or leave a session out."""

    code = "EF222"


class SheetRefused(ContractError):
    """An audit sheet with open answers, or one that is not the sheet of these results."""

    code = "EF223"


class ChoiceRowRefused(ContractError):
    """A row of choice questions that cannot be scored as it stands."""

    code = "EF230"


class RecordRefused(ContractError):
    """A record of another evaluation tool that could only be taken with a guess."""

    code = "EF231"


# ---- EF3xx: store ---------------------------------------------------------------------------------------------------


class StoreError(EvalframeError):
    """The store cannot be read or written."""

    code = "EF301"


class StoreUnreachable(StoreError):
    """The object store that a URI names does not answer."""

    code = "EF302"


class BucketMissing(StoreError):
    """The bucket or container that a URI names does not exist."""

    code = "EF303"


class AccessRefused(StoreError):
    """The object store does not let these credentials, or nobody without them, do this."""

    code = "EF304"


class StoreConflict(EvalframeError):
    """An id that is sealed already was given different content."""

    code = "EF310"
    exit_code = ExitCode.CONTRACT


class ManifestDiffers(StoreConflict):
    """An output folder was begun under other settings or on other data."""

    code = "EF330"


class StepClaimed(StoreConflict):
    """A checkpoint is another worker's."""

    code = "EF331"


class StoreCorrupt(EvalframeError):
    """Sealed content no longer matches its seal."""

    code = "EF320"
    exit_code = ExitCode.MISMATCH


# ---- EF4xx: comparison (exit 3) -------------------------------------------------------------------------------------


class NotComparable(EvalframeError):
    """Two results answer different questions."""

    code = "EF401"
    exit_code = ExitCode.NOT_COMPARABLE


class ResultsMissing(NotComparable):
    """No fingerprint of a protocol has results for all the named runs."""

    code = "EF402"


# ---- EF5xx: protocols (exit 4) --------------------------------------------------------------------------------------


class ProtocolError(EvalframeError):
    """The data are sound but the protocol forbids this use of them."""

    code = "EF501"
    exit_code = ExitCode.CONTRACT


class CalibrationLeak(ProtocolError):
    """Thresholds would be fitted on sessions that the evaluation reports."""

    code = "EF510"


class CalibrationMissing(ProtocolError):
    """No calibration session was named, so no threshold can be chosen."""

    code = "EF511"


# ---- EF6xx: audits (exit 5) -----------------------------------------------------------------------------------------


class AuditError(EvalframeError):
    """An audit found a disagreement."""

    code = "EF601"
    exit_code = ExitCode.MISMATCH


class DigestMismatch(AuditError):
    """A file is not the one whose digest was recorded."""

    code = "EF602"


class ReferenceRefused(AuditError):
    """A reference implementation does not run as it is pinned: what it reaches for, takes, changes or leaves out."""

    code = "EF603"


# ---- EF7xx: relations and engines -----------------------------------------------------------------------------------


class RelationError(EvalframeError):
    """A relation file breaks a rule of sql/: front matter, layers, declared inputs or the portable subset."""

    code = "EF701"


class EngineError(EvalframeError):
    """A query could not be run, or its rows could not be kept."""

    code = "EF710"


class EngineUnreachable(EngineError):
    """The cluster that was named does not answer, or lost what it needs to go on."""

    code = "EF712"


class NotPortable(EngineError):
    """An engine does not speak a relation. `reason`: function, window frame, subquery, syntax or types."""

    code = "EF711"

    def __init__(self, what: str, *, expected: str, found: str, hint: str, reason: str, where: str = "") -> None:
        super().__init__(what, expected=expected, found=found, hint=hint, where=where)
        self.reason = reason
