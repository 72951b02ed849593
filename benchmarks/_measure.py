"""Time, peak memory, and what machine it was."""

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CLEAR_PEAK = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Measured:
    """Median seconds, repeats, peak bytes beyond the start (None: unknown here), the result."""

    seconds: float
    repeats: int
    peak: int | None
    result: Any


def measure(call: Callable[[], Any], *, worth: float = 1.0, most: int = 7) -> Measured:
    """Call until ``worth`` seconds are spent, at most ``most`` times, at least once."""
    times: list[float] = []
    peak = None
    result = None
    while not times or (sum(times) < worth and len(times) < most):
        before = _reset_peak()
        started = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - started)
        if before is not None:
            peak = max(peak or 0, _memory("VmHWM") - before)
    return Measured(statistics.median(times), len(times), peak, result)


def _reset_peak() -> int | None:
    try:
        _CLEAR_PEAK.write_text("5")
        return _memory("VmRSS")
    except OSError:  # not on Linux
        return None


def _memory(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def load() -> float | None:
    """Return the load average of the last minute; None where there is none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine() -> dict[str, str]:
    """Return what the numbers depend on, by name."""
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB"
    versions = {}
    for name in ("numpy", "numba", "scikit-learn", "torch", "pykeops"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "Processor": f"{_processor()}, {os.cpu_count()} cores",
        "Memory": memory or "unknown",
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    } | versions


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    facts = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    widest = next((x for x in ("avx512f", "avx2", "avx") if x in facts.get("flags", "")), "")
    family = f"family {facts['cpu family']}" if "cpu family" in facts else ""
    parts = [facts.get("model name", "unknown"), family, widest]
    return ", ".join(part for part in parts if part)


def run_python(program: str, *arguments: object) -> str:
    """Run a program in a new Python, with this checkout first on its path; return what it says."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
