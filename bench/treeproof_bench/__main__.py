"""``treeproof-bench``: the same as ``treeproof bench``."""

from __future__ import annotations

import sys

from treeproof.cli import main as treeproof


def main() -> int:
    """Run ``treeproof bench`` with the words of the command line."""
    return treeproof(["bench", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
