"""Public names of this room."""

from .files import report_files as report_files, write_report as write_report
from .findings import ReportSettings as ReportSettings, Source as Source
