"""Files of many formats in, one checked Dataset and a plain report out."""

from lore_core.reading.checks import Check, DoubtfulDataError
from lore_core.reading.databases import SeveralTablesError
from lore_core.reading.loading import inspect, load, load_runs, read, read_batches
from lore_core.reading.mapping import PROBABILITY_KINDS, ColumnMapping, parse_options
from lore_core.reading.reading_report import ColumnOverview, FileOverview, Reading, ReadingReport

__all__ = [
    "PROBABILITY_KINDS",
    "Check",
    "ColumnMapping",
    "ColumnOverview",
    "DoubtfulDataError",
    "FileOverview",
    "Reading",
    "ReadingReport",
    "SeveralTablesError",
    "inspect",
    "load",
    "load_runs",
    "parse_options",
    "read",
    "read_batches",
]
