"""``python -m benchmarks.attack [--files N]``."""

from __future__ import annotations

import argparse

from benchmarks.attack import files


def main() -> None:
    """Run the attacks and print what came of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    outcome = files.attack(given.first, given.first + given.files)
    print(outcome.counts, f"slowest {outcome.slowest:.1f} s, largest {outcome.largest:.0f} MiB")
    for word, examples in outcome.examples.items():
        for number, said in examples:
            print(f"== {word} {number}\n{said}")


main()
