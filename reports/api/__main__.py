"""Command line as a module: `python -m lsmlab`."""

import sys

from lsmlab.reports.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
