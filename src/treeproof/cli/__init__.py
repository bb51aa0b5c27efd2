"""The command line: ``treeproof demo | train | explain | enumerate | encode``."""

from treeproof.cli.main import main

__all__ = ["main"]
