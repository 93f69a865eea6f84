"""Command `lsmlab lab`: a local web page that simulates while sliders move."""

from __future__ import annotations

import logging
import os
import sys
import webbrowser
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.sim.results.rundir import display_path, make_directory
from lsmlab.sim.studies.request import option

DEFAULT_FOLDER: Final = Path("outputs") / "lab"
_MOST: Final = 4
"""Largest number of simulations at a time, previews not counted, whatever the number of cores."""

_LEAST: Final = 2
"""Least number: a tab has one simulation at a time, so it cannot keep the only place from the others."""


@dataclass(frozen=True, kw_only=True)
class LabRequest:
    """Open a local web page to choose engine, device, workload and options; it simulates while sliders move."""

    port: int = option(0, "port on 127.0.0.1 (default: any free port)", metavar="N")
    no_open: bool = option(False, "open no browser; print the address only")
    out: Path = option(DEFAULT_FOLDER, "folder of kept runs (default: outputs/lab)", metavar="DIR")


def lab(argv: list[str]) -> int:
    """Run `lsmlab lab [--port N] [--no-open] [--out DIR]` until Ctrl-C or SIGTERM; return 0.

    Raises InputError if the package dash is not installed, or the port is taken.
    """
    request = read(parser_of("lab", LabRequest).parse_args(argv), LabRequest)
    if find_spec("dash") is None:
        raise InputError("lab: the package dash is not installed; install it with: pip install 'dash>=4'")
    if not 0 <= request.port < 1 << 16:
        raise InputError(f"--port {request.port}: must be 0 (any free port) to 65535")
    return _serve(request)


def _serve(request: LabRequest) -> int:
    from lsmlab.reports.lab.choice import fields
    from lsmlab.reports.lab.job_queue import JobQueue
    from lsmlab.reports.lab.kept_runs import KeptRuns
    from lsmlab.reports.lab.layout import START
    from lsmlab.reports.lab.process import LabProcess
    from lsmlab.reports.lab.safety import HOST, KEY
    from lsmlab.reports.lab.server import application, new_key
    from lsmlab.reports.lab.work import Preview

    kept = KeptRuns(make_directory(request.out).resolve())
    kept.tidy()
    config = START.configuration()
    most = max(_LEAST, min(_MOST, (os.cpu_count() or 1) - 1))
    jobs, key = JobQueue(lambda: LabProcess(Preview(config)), most, kept.tidy), new_key()
    server = _bound(HOST, request.port)
    try:
        jobs.warm_up()
        fields(START.base())
        START.yaml()
        server.app = application(jobs, kept, server.port, key).server
        address = f"http://{HOST}:{server.port}/?{KEY}={key}"
        sys.stdout.write(f"Laboratory: {address}\nKept runs: {display_path(kept.root)}. Ctrl-C ends it.\n")
        sys.stdout.flush()
        if not request.no_open:
            webbrowser.open(address)
        server.serve_forever()
    except KeyboardInterrupt:
        sys.stderr.write(f"\nThe laboratory has ended; {len(kept.runs())} kept runs are in {display_path(kept.root)}.\n")
    finally:
        jobs.close()
        server.server_close()
    return 0


def _bound(host: str, port: int) -> Any:
    """Return a server that listens on the port, so that no other program can take the port of the address meanwhile."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    try:
        return make_server(host, port, lambda _environment, _start: [], threaded=True)
    except (OSError, SystemExit):  # werkzeug prints its own lines and exits
        raise InputError(f"--port {port}: another program uses it; leave --port out for any free port") from None
