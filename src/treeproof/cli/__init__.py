"""The command line: ``treeproof demo | train | explain | enumerate | ask | check | encode | bench | completion``."""

from treeproof.cli.main import main

__all__ = ["main"]
