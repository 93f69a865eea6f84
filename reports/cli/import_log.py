"""Command `lsmlab import`: writes tables, a configuration for `lsmlab run` and a page from a real LOG, or a trace."""

from __future__ import annotations

import sys
from pathlib import Path

from lsmlab.reports.cli.arguments import OutputOptions, parser_of, read
from lsmlab.reports.cli.running import draw
from lsmlab.reports.limits import IMPORT_S, limited
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import dated_directory, display_path, named_directory
from lsmlab.validation.importer.configuration import FULL_SPEED, NAME
from lsmlab.validation.importer.entries import REPLAY
from lsmlab.validation.importer.importing import ImportRequest, read_store, traces_among
from lsmlab.validation.importer.text import import_text, trace_rows
from lsmlab.validation.importer.trace_import import ImportedTrace


def import_log(argv: list[str]) -> int:
    """Run `lsmlab import LOG [OPTIONS] [--out DIR] [--json]`; return the exit code.

    Raises InputError if a file is unreadable or of the wrong kind.
    """
    given = parser_of("import", ImportRequest, OutputOptions).parse_args(argv)
    request, output = read(given, ImportRequest), read(given, OutputOptions)
    place = str(request.logs[0])
    with limited(place, IMPORT_S):
        trace, others = traces_among(request.logs)
        if trace is not None and not others:
            return _import_trace(ImportedTrace(trace), output)
        store = read_store(request)
    target = _target(output)
    with limited(place, IMPORT_S):
        store.write(target)
        summary = store.summary
    folder, experiment = display_path(target), summary["import"]["experiment"]
    commands = {name: f"lsmlab run --config-dir {folder} experiment={name}" for name in (NAME, FULL_SPEED)}
    if output.json:
        sys.stdout.write(to_json({**summary, "directory": str(target), "command": commands[experiment]}))
    else:
        sys.stdout.write(import_text(summary))
        sys.stdout.write(f"\nSaved in {folder}\n{_what_next(commands, experiment)}")
    sys.stdout.flush()
    if output.json or output.no_report:
        return 0
    from lsmlab.reports.import_page import draw_import

    return draw(lambda: draw_import(target))


def _target(output: OutputOptions) -> Path:
    return (dated_directory("outputs") if output.out is None else named_directory(output.out)).resolve()


def _import_trace(trace: ImportedTrace, output: OutputOptions) -> int:
    """Write and print the load of a trace without a LOG, of which there is no page; return the exit code."""
    target = _target(output)
    trace.write(target)
    folder = display_path(target)
    command = f"lsmlab run --config-dir {folder} workload={NAME}"
    if output.json:
        sys.stdout.write(to_json({**trace.summary, "directory": str(target), "command": command}))
        return 0
    sys.stdout.write("\n".join([*trace_rows(trace.summary["import"]["trace"]), ""]))
    sys.stdout.write(
        f"\nSaved in {folder}\nSimulate this load on a store of your choice:\n  {command}\n"
        f"or each operation of the trace:\n  lsmlab run --config-dir {folder} workload={REPLAY}\n"
    )
    return 0


def _what_next(commands: dict[str, str], experiment: str) -> str:
    """Return text with the commands of both simulations; first the one that repeats the real load."""
    words = {NAME: "with the load that the store accepted", FULL_SPEED: "with clients at full speed"}
    other = next(name for name in commands if name != experiment)
    return f"Simulate it {words[experiment]}:\n  {commands[experiment]}\nor {words[other]}:\n  {commands[other]}\n"
