"""``python -m lore_core.cli`` is ``lore``."""

import sys

from lore_core.cli import main

sys.exit(main())
