"""``python -m treeproof`` is the command line."""

import sys

from treeproof.cli import main

sys.exit(main())
