"""Where a user's programs may keep what can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """Return this user's folder of LoRe Lens below the system's cache folder; it may not exist."""
    if sys.platform == "win32":
        users = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        users = "~/Library/Caches"
    else:
        users = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(users).expanduser() / "lore-lens"
