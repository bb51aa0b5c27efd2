"""The command line: ``treeproof demo | train | explain | enumerate | ask | encode | bench``."""

from treeproof.cli.main import main

__all__ = ["main"]
