"""Attack, and say what came of it: ``python -m benchmarks.attack [--count N] [--write]``.

``--readers N --minutes M``, ``--cycles N`` and ``--kills N`` attack a server instead.
"""

import argparse
import platform
import sys
from pathlib import Path

from benchmarks.attack import bombs, crowd, cycles, files, kills, models
from benchmarks.attack.cases import Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
#: Between these lines of the page stands what was measured, of each attack by its name.
_BEGIN, _END = "<!-- measured: {} -->", "<!-- end: {} -->"
#: One model a so many files.
_MODELS = 5
BAD = ("traceback", "died", "slow", "memory", "no sentence", "fewer rows")
_WORDS = {
    "refused": "refused in one sentence",
    "same": "read as what it was",
    "other": "read, with other content",
    "traceback": "tracebacks",
    "died": "processes ended",
    "slow": "above 5 s",
    "memory": "out of memory",
    "no sentence": "refused at length",
    "fewer rows": "read with fewer rows",
    "damaged, same": "damaged, read as what it was",
    "damaged, others": "damaged, other probabilities",
    "edited, same": "edited, the same probabilities",
    "edited, others": "edited, other probabilities (within the rules)",
}


def _row(name: str, outcome: Outcome, order: tuple[str, ...]) -> str:
    counts: dict[str, int] = {}
    for word, n in outcome.counts.items():
        key = word.partition(", ")[0] if word.startswith("other, ") else word
        counts[key] = counts.get(key, 0) + n
    told = "; ".join(f"{counts.get(word, 0):,} {_WORDS[word]}" for word in order)
    others = {word[7:]: n for word, n in outcome.counts.items() if word.startswith("other, ")}
    if others:
        listed = sorted(others.items(), key=lambda item: -item[1])
        told += f" ({', '.join(f'{kind} {n:,}' for kind, n in listed)})"
    bad = ", ".join(f"{counts.get(word, 0)} {_WORDS[word]}" for word in BAD)
    return (
        f"| {name} | {told} | {bad} | {outcome.slowest:.1f} s of work, {outcome.largest:,.0f} MiB |"
    )


def _refusals(exploded: list[bombs.Exploded]) -> str:
    read = [f"`{item.name}` ({item.said})" for item in exploded if item.said.startswith("read: ")]
    refused = f"{len(exploded) - len(read)} of {len(exploded)} bombs are refused in one sentence"
    return f"{refused}; not refused: {', '.join(read)}." if read else f"{refused}."


def measured(count: int) -> tuple[list[str], bool]:
    """Return the lines of what was measured, and whether all of it was as it must be."""
    n_models = max(count // _MODELS, 1)
    of_files, of_models = files.attack(0, count), models.attack(0, n_models)
    exploded = bombs.attack()
    lines = [
        "| attack | what came of it | must be 0 | slowest case, largest process |",
        "|---|---|---|---|",
        _row(f"{count:,} damaged files", of_files, ("refused", "same", "other")),
        _row(
            f"{n_models:,} damaged and edited .lore files",
            of_models,
            ("refused", "damaged, same", "damaged, others", "edited, same", "edited, others"),
        ),
        "",
        _refusals(exploded),
        "",
        "| bomb | size | after |",
        "|---|---|---|",
        *(
            f"| `{item.name}` | {item.size / 1000:,.0f} kB | {item.seconds:.1f} s |"
            for item in exploded
        ),
        "",
        f"*{platform.machine()}, Python {platform.python_version()}.*",
    ]
    outcomes = (of_files, of_models)
    for outcome in outcomes:
        for word, examples in outcome.examples.items():
            for case, said in examples:
                sys.stderr.write(f"== {word} {case}\n{said}\n")
    good = not any(outcome.counts[word] for outcome in outcomes for word in BAD)
    return lines, good and not of_models.counts["damaged, others"]


def main() -> int:
    """Attack; the code is 1 where something was as it must not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--readers", type=int)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found: dict[str, tuple[list[str], bool]] = {}
    if given.readers:
        found["readers"] = crowd.attack(given.readers, given.minutes)
    if given.cycles:
        found["cycles"] = cycles.attack(given.cycles)
    if given.kills:
        found["kills"] = kills.attack(given.kills)
    if not found:
        found["files"] = measured(given.count)
    for name, (lines, _) in found.items():
        text = "\n".join(lines)
        sys.stdout.write(f"{text}\n\n")
        if given.write:
            _write(name, text)
    return 0 if all(good for _, good in found.values()) else 1


def _write(name: str, lines: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin, end = _BEGIN.format(name), _END.format(name)
    before, after = text.partition(begin)[0], text.partition(end)[2]
    PAGE.write_text(f"{before}{begin}\n{lines}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
