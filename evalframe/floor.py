"""EasyCom floor events, from Python: the functions behind `evalframe floor ...`."""

from evalframe.verbs.floor import evaluate
from evalframe.verbs.floor_audit import audit_sheet, freeze
from evalframe.verbs.floor_convert import convert_miniroada, rasterize

__all__ = ["audit_sheet", "convert_miniroada", "evaluate", "freeze", "rasterize"]
