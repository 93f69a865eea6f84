"""Golden texts of compaction policies, after Pebble's datadriven tests: commands, a line of dashes, the answer.

A block is one command with arguments (`pick version=7.8`), its input lines, `----`, and the expected answer up to an
empty line. `#` begins a comment line between blocks. LSMLAB_REWRITE=1 in the environment writes the actual answers into
the file; review that change like any other change of a test.

A tree is written with one line per level, `L0: 7[10-90]=100 6[5-80]=120*`: file number, smallest and largest key, size
in bytes; `*` marks a file that a running job has as input, `~200` gives a compensated size and `@3-9` sequence numbers.
L0 is newest first. ` | ` separates the sorted runs of a level, newest first. A file contains every key of its range, or
every tenth one with `/10`. `frozen: 9[0-39]=40` lists frozen files; `5[0-49]=100{9:0-19,8:0-19}` has slices of the
frozen files 9 and 8, oldest first. `running: 0->1[5-90]` lists the running jobs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from lsmlab.models.policies.decisions import Compaction, DoNothing, Drop, Link, Move, Pick, Picker, RunningJob
from lsmlab.models.tree.files import NO_KEYS, Slice, SortedFile, slice_of
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Placement, Tree

Arguments = dict[str, str]
Command = Callable[[Arguments, list[str]], str]
PickerFactory = Callable[[Arguments], Picker]
REWRITE = "LSMLAB_REWRITE"

_FILE = re.compile(
    r"(\d+)\[(\d+)-(\d+)(?:/(\d+))?\]=(\d+)(?:~(\d+))?(?:@(\d+)-(\d+))?(\*?)(?:\{([\d:,-]+)\})?$"
)
MOST_KEYS = 10_000
"""Largest key range of a file that carries keys."""
_JOB = re.compile(r"(\d+)->(\d+)\[(\d+)-(\d+)\]$")


def run_golden(path: Path, commands: Mapping[str, Command]) -> None:
    """Run every block of `path` and compare the answers with those in the file."""
    written: list[str] = []
    failures: list[str] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line.startswith("#"):
            written.append(line)
            at += 1
            continue
        dashes = lines.index("----", at)
        end = next((i for i in range(dashes + 1, len(lines)) if not lines[i]), len(lines))
        name, *words = line.split()
        answer = commands[name](dict(word.split("=", 1) for word in words), lines[at + 1 : dashes])
        expected = "\n".join(lines[dashes + 1 : end])
        if expected != answer:
            failures.append(f"{path.name}:{at + 1}: {line}\n--- expected\n{expected}\n--- actual\n{answer}")
        written += [*lines[at : dashes + 1], *answer.splitlines()]
        at = end
    if os.environ.get(REWRITE) == "1":
        path.write_text("\n".join(written) + "\n", encoding="utf-8")
    else:
        assert not failures, "\n\n".join(failures)


def parse_file(text: str, frozen: Mapping[int, SortedFile] = MappingProxyType({})) -> SortedFile:
    """Parse one file of a tree; `frozen`: frozen files by number, for its slices."""
    match = _FILE.match(text)
    assert match, f"not a file: {text!r}"
    number, lo, hi, size = (int(match[i]) for i in (1, 2, 3, 5))
    return SortedFile(
        number, lo, hi, size,
        keys=np.append(np.arange(lo, hi, int(match[4] or 1)), hi) if hi - lo <= MOST_KEYS else NO_KEYS,
        entries=float(size),
        compensated_bytes=int(match[6]) if match[6] else -1,
        smallest_seqno=int(match[7]) if match[7] else number,
        largest_seqno=int(match[8]) if match[8] else number,
        busy=bool(match[9]),
        slices=tuple(_slice(part, frozen) for part in match[10].split(",")) if match[10] else (),
    )  # fmt: skip


def _slice(text: str, frozen: Mapping[int, SortedFile]) -> Slice:
    """Parse one slice, such as 9:0-19."""
    number, _, keys = text.partition(":")
    lo, _, hi = keys.partition("-")
    source = frozen[int(number)]
    start, end = source.keys.searchsorted((int(lo), int(hi) + 1)).tolist()
    source.live_slices += 1
    return slice_of(source, start, end)


def parse_tree(lines: Sequence[str], num_levels: int = 7) -> tuple[Tree, list[RunningJob]]:
    """Parse a tree and the running jobs."""
    tree, running = Tree(num_levels), []
    for line in lines:
        head, _, rest = line.partition(":")
        if head == "running":
            for word in rest.split():
                match = _JOB.match(word)
                assert match, f"not a job: {word!r}"
                start, output, lo, hi = (int(group) for group in match.groups())
                running.append(RunningJob(start, output, lo, hi))
        elif head == "frozen":
            tree.frozen = {f.number: f for f in map(parse_file, rest.split())}
        elif head == "L0":
            tree.l0 = [parse_file(word) for word in rest.split()]
        else:
            runs = [[parse_file(word, tree.frozen) for word in run.split()] for run in rest.split("|")]
            *newer, oldest = [sorted(run, key=lambda f: f.lo) for run in runs]
            tree.levels[int(head[1:])].insert(oldest)
            tree.newer[int(head[1:])] = [Level(run) for run in newer]
    tree.linked_bytes = sum(part.size_bytes for file in tree.files() for part in file.slices)
    tree.check()
    return tree, running


def show_pick(pick: Pick) -> str:
    """Print a pick: its type, levels and reason, and the file numbers per level."""
    if isinstance(pick, DoNothing):
        return "nothing"
    files = [f"  L{level}: {' '.join(str(f.number) for f in files)}" for level, files in pick.inputs]
    if isinstance(pick, Drop):
        return "\n".join([f"drop {pick.reason}", *files])
    head = f"{type(pick).__name__.lower()} L{pick.start_level}->L{pick.output_level} {pick.reason} score={pick.score:.4g}"
    if pick.next_key is not None:
        head += f" next={pick.next_key}"
    if isinstance(pick, Compaction) and pick.cut_keys:
        head += f" cut_at={','.join(map(str, pick.cut_keys))}"
    if isinstance(pick, Compaction) and pick.placement is not Placement.REPLACE:
        head += f" {pick.placement.value}"
    return "\n".join([head, *files])


@dataclass
class PickerSession:
    """Commands for pickers.

    The command `options` sets arguments for all following commands; arguments of one command apply to it alone.
    """

    factory: PickerFactory
    """Makes the picker from the arguments."""
    options: Arguments = field(default_factory=dict)
    tree: Tree = field(default_factory=Tree)
    running: list[RunningJob] = field(default_factory=list)

    def commands(self) -> dict[str, Command]:
        """Return all commands by name."""
        return {
            "options": self._options, "define": self._define, "pick": self._pick, "picks": self._picks,
            "scores": self._scores, "targets": self._targets, "pending": self._pending,
        }  # fmt: skip

    def picker(self, arguments: Arguments) -> Picker:
        """Make the picker for the arguments of `options` and of one command."""
        return self.factory({**self.options, **arguments})

    def _options(self, arguments: Arguments, lines: list[str]) -> str:
        self.options = arguments
        return ""

    def _define(self, arguments: Arguments, lines: list[str]) -> str:
        self.tree, self.running = parse_tree(lines, int(arguments.get("num_levels", "7")))
        levels = [f"L{i}:{self.tree.size_bytes(i)}" for i in range(self.tree.num_levels) if self.tree.file_count(i)]
        return " ".join(levels)

    def _pick(self, arguments: Arguments, lines: list[str]) -> str:
        return show_pick(self.picker(arguments).pick(self.tree, self.running, 0.0))

    def _picks(self, arguments: Arguments, lines: list[str]) -> str:
        """Pick until nothing is left, marking the inputs of each pick as busy: a chain of parallel jobs."""
        picker, answers = self.picker(arguments), []
        while not isinstance(pick := picker.pick(self.tree, self.running, 0.0), DoNothing):
            answers.append(show_pick(pick))
            self._start(pick)
        return "\n".join([*answers, "nothing"])

    def _start(self, pick: Compaction | Move | Drop | Link) -> None:
        for level, files in pick.inputs:
            self.tree.mark(level, files, busy=True)
        if isinstance(pick, Drop):
            return
        files = [f for _, level in pick.inputs for f in level]
        lo, hi = min(f.lo for f in files), max(f.hi for f in files)
        self.running.append(RunningJob(pick.start_level, pick.output_level, lo, hi))
        if pick.cursor is not None:
            self.tree.cursor[pick.start_level] = pick.cursor

    def _scores(self, arguments: Arguments, lines: list[str]) -> str:
        scores = self.picker(arguments).scores(self.tree)
        return " ".join(f"L{i}:{score:.4g}" for i, score in enumerate(scores) if score)

    def _targets(self, arguments: Arguments, lines: list[str]) -> str:
        return " ".join(f"{target:.0f}" for target in self.picker(arguments).level_targets(self.tree))

    def _pending(self, arguments: Arguments, lines: list[str]) -> str:
        return str(self.picker(arguments).pending_bytes(self.tree))
