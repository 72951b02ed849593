"""The report: every figure, table and number of one dataset in one bundle to take away."""

from __future__ import annotations

from lore_core.report.files import report_files, write_report
from lore_core.report.settings import ReportSettings, Source

__all__ = ["ReportSettings", "Source", "report_files", "write_report"]
