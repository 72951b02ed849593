"""A process beside the server that computes what pages ask for, one thing after the other."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from typing import Any

import pandas as pd

from lore_core.comparison import Comparison, conclude_recalibration
from lore_core.dashboard.large_arrays import Apart
from lore_core.dashboard.maps_told import map_from
from lore_core.dashboard.messages import beside_streams, hear_all, write_message
from lore_core.dashboard.results_told import result_from, result_told
from lore_core.dashboard.warming import small_view
from lore_core.data.arrays import Floats, Keep
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding
from lore_core.kernel_sums.schedule import fewer_threads, one_thread_a_product
from lore_core.metrics import BandwidthCurve
from lore_core.reading.handover import Arrays, dataset_from
from lore_core.recalibration import standard_recalibrators
from lore_core.view.inference import (
    chance_band_of,
    vector_band_of,
    vector_chance_of,
    vector_curve_of,
    vector_errors_of,
)
from lore_core.view.methods import (
    Grouping,
    comparison_of,
    intervals_of,
    recalibrators_of,
    taught_of,
)
from lore_core.view.view import View
from lore_core.view.where import curve_of

#: How much less of the processors than pages; more than maps, for a reader waits.
_LESS = 3
#: Seconds without a question after which there is time to warm up.
_AT_EASE = 3.0


def fitted(
    view: View,
    progress: Progress | None,
    labels: list[str],
    grouping: Grouping | None,
    measured_on: Embedding | None,
    keep: Keep | None = None,
) -> Comparison:
    """Fit methods by their labels and measure them; simulate nothing."""
    known = recalibrators_of(view)
    made = comparison_of(
        view,
        [known[label] for label in labels],
        {},
        grouping=grouping,
        measured_on=measured_on,
        progress=progress,
        keep=keep,
    )
    # What the page shows of all rows of all methods is told with it, and not the rows.
    conclude_recalibration(made)
    return made.without_row_values()


def simulated(
    view: View,
    progress: Progress | None,
    confidences: dict[str, Floats],
    measured_on: Embedding | None,
) -> dict[str, pd.DataFrame] | None:
    """Simulate the intervals of what :func:`fitted` measured."""
    return intervals_of(view, confidences, measured_on=measured_on, progress=progress)


def curve_after(
    view: View, progress: Progress | None, confidence: Floats, measured_on: Embedding
) -> BandwidthCurve:
    """Measure over γ what one method of :func:`fitted` made of the confidences."""
    return curve_of(view, progress, confidence=confidence, on=measured_on)


#: What can be asked for, by its name.
WORK: dict[str, Callable[..., Any]] = {
    "fits": fitted,
    "intervals": simulated,
    "curve": curve_after,
    "taught": lambda view, _: taught_of(view),
    "chance band": lambda view, progress: chance_band_of(view, progress=progress),
    "vector errors": vector_errors_of,
    "vector chance": lambda view, progress: vector_chance_of(view, progress=progress),
    "vector curve": vector_curve_of,
    "vector band": lambda view, progress: vector_band_of(view, progress=progress),
}


def warm_up() -> None:
    """Do a small task, and so load what the first reader would wait for: a second or more."""
    view = small_view()
    made = fitted(view, None, [item.label for item in standard_recalibrators()], None, None)
    simulated(view, None, {name: item.confidence for name, item in made.datasets.items()}, None)
    curve_after(view, None, view.evaluation.confidence, view.embedding)
    taught_of(view)


def main() -> None:
    """Do what standard input asks for, and tell of it on standard output."""
    incoming, out = beside_streams(_LESS)
    asked: queue.Queue[tuple[Any, Arrays] | None] = queue.Queue()

    def take(message: tuple[Any, Arrays] | None) -> None:
        if message is None:
            os._exit(1)  # the server has ended: nobody would take the result
        asked.put(message)

    hear_all(incoming, take)
    one_thread_a_product()
    kept: dict[str, Dataset | Embedding] = {}

    def tell(done: float, message: str) -> None:
        write_message(out, {"done": done, "message": message}, {})

    def question() -> tuple[Any, Arrays] | None:
        try:
            return asked.get(timeout=_AT_EASE)
        except queue.Empty:
            warm_up()
            return asked.get()

    try:
        message = question()
        while message is not None:
            told, arrays = message
            match told:
                case {"keep": name, "dataset": of}:
                    kept[name] = dataset_from(of, arrays)
                case {"keep": name, "map": of}:
                    kept[name] = map_from(of, arrays)
                case {"forget": name}:
                    del kept[name]
                case _:
                    write_message(out, *_done(told, arrays, kept, tell))
            message = asked.get()
    except BrokenPipeError:
        os._exit(1)  # the same, while it told of its progress


def _done(told: Any, arrays: Arrays, kept: dict[str, Any], tell: Progress) -> tuple[Any, Arrays]:
    """Return what came of a question: a result, or why there is none."""
    maps = {name: kept[digest] for name, digest in told["maps"].items()}
    try:
        view = View(kept[told["dataset"]], maps=maps, **told["view"])
        options = result_from(told["options"], arrays, view.evaluation, kept)
        work = WORK[told["work"]]
        with fewer_threads(told["threads"]), Apart(told["file"]) as file:
            if work is fitted:  # what ten methods made of many rows need not be in memory
                options["keep"] = file.keep
            result, found = result_told(work(view, tell, **options), view.evaluation)
            found, apart = file.put(found)
    except InputError as error:
        return {"error": str(error)}, {}
    except MemoryError:
        return {"memory": True}, {}
    return {"result": result, "apart": apart}, found
