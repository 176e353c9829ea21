"""The fuzzer's modules, for the tests beside them; as a script it finds them by itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
