"""Run many cases in processes that may die, and count how each ended."""

import faulthandler
import json
import os
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

#: What a case returns: a word, how it ended.
Case = Callable[[int], str]

_SLOW = 5.0
#: Cases of one process: what many leave behind, in a reader that reads one file, is no finding.
_CASES = 250


@dataclass
class Outcome:
    """How cases ended."""

    counts: Counter[str] = field(default_factory=Counter)
    #: Case and what was said, of crashes, tracebacks and slow cases; the first few of each kind.
    examples: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    slowest: float = 0.0
    largest: float = 0.0  #: MiB of the largest process

    def add(self, number: int, word: str, said: str = "") -> None:
        """Count a case."""
        self.counts[word] += 1
        if said:
            self.examples.setdefault(word, []).append((number, said))
            del self.examples[word][40:]


def run(case: Case, first: int, last: int, *, memory: int, error: type[Exception]) -> Outcome:
    """Run cases ``first`` to ``last`` − 1; one that ends its process is counted, and left behind.

    ``memory``: bytes a process may take beyond what it has. ``error``: what is no bug.
    """
    outcome = Outcome()
    while first < last:
        before, answer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(before)
            numbers = range(first, min(last, first + _CASES))
            _child(case, numbers, answer, memory, error)
        os.close(answer)
        with os.fdopen(before) as lines:
            for line in lines:
                number, word, said, seconds = json.loads(line)
                outcome.slowest = max(outcome.slowest, seconds)
                if seconds > _SLOW:
                    outcome.add(number, "slow", f"{seconds:.1f} s")
                outcome.add(number, word, said)
                first = number + 1
        status, usage = os.wait4(process, 0)[1:]
        outcome.largest = max(outcome.largest, usage.ru_maxrss / 1024)
        if status:
            outcome.add(first, "died", f"signal {status & 0x7F}")
            first += 1
    return outcome


def _child(case: Case, numbers: range, answer: int, memory: int, error: type[Exception]) -> None:
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(answer, "w", buffering=1) as stream:
        for number in numbers:
            began, said = time.process_time(), ""
            until = int(time.process_time()) + 60
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            try:
                word = case(number)
            except error as problem:
                word, text = "refused", str(problem)
                if "\n" in text or len(text) > 700:
                    word, said = "no sentence", text[:700]
            except MemoryError:
                word, said = "memory", "".join(traceback.format_exc()[-300:])
            except KeyboardInterrupt:  # of this run, not of a file
                os._exit(130)
            except BaseException:  # exits and panics of extensions are what is counted, too
                word, said = "traceback", traceback.format_exc()[-900:]
            print(json.dumps([number, word, said, time.process_time() - began]), file=stream)
    os._exit(0)
