"""Command line as a module: `python -m lsmlab`."""

import sys

from lsmlab.reports.cli.main import main

sys.exit(main())
