"""Data contracts: the tables of this project, what may stand in them, and whether it does."""

from evalframe.contracts.conforming import conform
from evalframe.contracts.describing import describe
from evalframe.contracts.examples import example
from evalframe.contracts.files import read_table
from evalframe.contracts.loading import contract, contracts
from evalframe.contracts.model import Column, Contract, Reference
from evalframe.contracts.report import Failure, Report
from evalframe.contracts.validating import validate
from evalframe.contracts.writing import table_bytes

__all__ = [
    "Column",
    "Contract",
    "Failure",
    "Reference",
    "Report",
    "conform",
    "contract",
    "contracts",
    "describe",
    "example",
    "read_table",
    "table_bytes",
    "validate",
]
