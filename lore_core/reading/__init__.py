"""Files of many formats in, one checked Dataset and a plain report out."""

from lore_core.reading.arrow_tables import frame_like
from lore_core.reading.checks import Check, DoubtfulDataError
from lore_core.reading.databases import SeveralTablesError
from lore_core.reading.loading import inspect, load, load_runs, read, read_batches
from lore_core.reading.mapping import PROBABILITY_KINDS, ColumnMapping, parse_options
from lore_core.reading.reading_report import (
    ColumnOverview,
    FileFacts,
    FileOverview,
    Reading,
    ReadingReport,
)

__all__ = [
    "PROBABILITY_KINDS",
    "Check",
    "ColumnMapping",
    "ColumnOverview",
    "DoubtfulDataError",
    "FileFacts",
    "FileOverview",
    "Reading",
    "ReadingReport",
    "SeveralTablesError",
    "frame_like",
    "inspect",
    "load",
    "load_runs",
    "parse_options",
    "read",
    "read_batches",
]
