"""``python -m benchmarks.attack [--files N]``."""

from __future__ import annotations

import argparse

from benchmarks.attack import files, models


def main() -> None:
    """Run the attacks and print what came of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    for attack, number in ((files.attack, given.files), (models.attack, given.models)):
        outcome = attack(given.first, given.first + number)
        print(outcome.counts, f"slowest {outcome.slowest:.1f} s, {outcome.largest:.0f} MiB")
        for word, examples in outcome.examples.items():
            for case, said in examples:
                print(f"== {word} {case}\n{said}")


main()
