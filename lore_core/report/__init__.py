"""The report: every figure, table and number of one dataset in one bundle to take away."""

from __future__ import annotations

from lore_core.report.settings import ReportSettings, Source
from lore_core.report.write import report_files, write_report

__all__ = ["ReportSettings", "Source", "report_files", "write_report"]
