"""Penalised fit of softmax(W x + b) to labels, x the log-probabilities of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.probabilities import log_probabilities, log_share, softmax
from lore_core.data.rules import STRENGTH, Number, Values
from lore_core.data.units import random_folds
from lore_core.data.weights import as_weights, chosen_weights, weighed

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: With more classes, what is off the diagonal sees this many principal directions of x alone.
_DIRECTIONS = 32
_MOST_CLASSES = 64
#: Only beyond it exponentials, and sums of them, need their row's largest taken off first.
_LARGEST_EXPONENT = 300.0
#: Numbers held at a time, beside x itself.
BLOCK = 2**20
#: Steps are in units of the curvature, of so many random rows, up to so many classes.
_CURVATURE_ROWS, _MOST_CURVED = 5_000, 16
#: Steps until the curvature is computed anew, and times it is at most.
_STEPS, _TIMES = 12, 40
#: Folds of the choice of penalties; numbers of x, and random rows, it is made on at most.
_FOLDS = 4
_LARGEST_FOLDED, _MOST_FOLDED = 2**21, 30_000
#: What is added to probabilities, tried in this order.
_OFFSETS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2)
#: Of the log-likelihood, what a larger one has to gain: one in twenty gains as much by chance.
_LEAST_GAIN = 2.0


class State(TypedDict):
    """What is fitted: z = x ∘ diagonal + (x directions) restᵀ + bias, and then softmax(z)."""

    centred: bool  #: whether the mean of each row's log-probabilities is taken off first
    #: ε: x = log (p + ε); what a class is worth that got no probability
    offset: Annotated[float, Number(0.0)]
    diagonal: Annotated[Floats, Values(("K",)), "how each class weighs its own probability"]
    bias: Annotated[Floats, Values(("K",)), "what is added to each class"]
    #: r = 0: nothing
    rest: Annotated[Floats, Values(("K", "r")), "what the other classes add to each"]
    #: Orthonormal; u = 0: those of the classes
    directions: Annotated[
        Floats,
        Values(("K", "u")),
        "principal directions of the log-probabilities, from sums over all rows",
    ]
    strength: Annotated[float, STRENGTH]  #: of the penalties, which was chosen
    keep_class: bool  #: whether no class may overtake the predicted one


@dataclass(frozen=True)
class Penalties:
    """Precisions of normal priors; the total NLL plus ρ/2 times the squares is minimised."""

    diagonal: float  #: ρ of each diagonal entry around their mean
    bias: float  #: ρ of each bias around 0
    rest: float = np.inf  #: ρ of each entry off the diagonal around 0; inf: there are none


@dataclass(frozen=True)
class AffineProblem:
    """Rows that softmax(x ∘ w + (x U) Mᵀ + b) is fitted to."""

    logs: Floats  #: x, (n, K)
    labels: Ints  #: (n,)
    #: U, (K, r); r = 0 the identity, and M then has an empty diagonal.
    directions: Floats
    weights: Floats | None = None  #: (n,) of mean 1; None: all rows count alike

    @cached_property
    def directed(self) -> Floats:
        """Product x U, shape (n, r); x itself where U is the identity."""
        return self.logs @ self.directions if self.directions.size else self.logs

    def rows(self, chosen: Ints | Mask) -> AffineProblem:
        """Return the problem of the chosen rows."""
        return replace(
            self,
            logs=self.logs[chosen],
            labels=self.labels[chosen],
            weights=chosen_weights(self.weights, chosen),
        )

    def _blocks(self, parameters: Floats) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
        """Yield rows, x, x U and z, a block at a time."""
        w, b, rest = _parts(parameters, self.logs.shape[1])
        size = max(BLOCK // self.logs.shape[1], 1)
        for start in range(0, len(self.logs), size):
            rows = slice(start, start + size)
            x = self.logs[rows]
            u = self.directed[rows]
            z = x * w
            if rest.size:
                z += u @ rest.T
            z += b
            if max(z.max(), -z.min()) > _LARGEST_EXPONENT:
                z -= z.max(axis=1, keepdims=True)
            yield rows, x, u, z

    def loss(self, parameters: Floats) -> float:
        """Return the total NLL without penalties."""
        return self.penalised(parameters, Penalties(0.0, 0.0, 0.0))[0]

    def penalised(self, parameters: Floats, penalties: Penalties) -> tuple[float, Floats]:
        """Return total NLL with penalties, and its gradient in (w, b, rows of M if any)."""
        w, b, rest = _parts(parameters, self.logs.shape[1])
        apart = w - w.mean()
        total = (penalties.diagonal * apart @ apart + penalties.bias * b @ b) / 2
        of_w, of_b = penalties.diagonal * apart, penalties.bias * b
        of_rest = np.zeros_like(rest)
        if rest.size:
            total += penalties.rest * float((rest**2).sum()) / 2
            of_rest = penalties.rest * rest
        for rows, x, u, z in self._blocks(parameters):
            index = np.arange(len(z))
            counts = chosen_weights(self.weights, rows)
            chosen = weighed(z[index, self.labels[rows]], counts).sum()
            off = np.exp(z, out=z)
            sums = off @ np.ones(off.shape[1])  # (Several times as fast as off.sum(axis=1).)
            total += float(weighed(np.log(sums), counts).sum() - chosen)
            off *= (1.0 / sums)[:, None]
            off[index, self.labels[rows]] -= 1.0
            if counts is not None:
                off *= counts[:, None]
            of_b += np.ones(len(off)) @ off
            if rest.size:
                of_rest += off.T @ u
            of_w += np.einsum("ij,ij->j", off, x)
        if not self.directions.size:
            np.fill_diagonal(of_rest, 0.0)  # M has an empty diagonal.
        return float(total), np.concatenate([of_w, of_b, of_rest.ravel()])

    def curvature(self, parameters: Floats, penalties: Penalties) -> Floats:
        """Return second derivatives of :meth:`penalised`, (P, P); by random ones of many rows."""
        k = self.logs.shape[1]
        some = self.rows(np.random.default_rng(0).permutation(len(self.labels))[:_CURVATURE_ROWS])
        m = len(some.labels)
        counts = np.ones(m) if some.weights is None else some.weights
        counts = counts[:, None] * (len(self.labels) / m)
        w, b, rest = _parts(parameters, k)
        p = softmax(some.logs @ (np.diag(w) + rest if rest.size else np.diag(w)).T + b)
        x = np.column_stack([some.logs, np.ones(m)])
        # ∂²/∂A_jc ∂A_kd = Σ x_c x_d (p_j 1[j = k] − p_j p_k), of A = (W, b).
        apart = (p[:, :, None] * x[:, None, :]).reshape(m, -1)
        hessian = -(apart.T @ (apart * counts))
        of_class = hessian.reshape(k, k + 1, k, k + 1)
        for j in range(k):
            of_class[j, :, j, :] += x.T @ (x * (p[:, j : j + 1] * counts))
        entries = np.arange(k * (k + 1)).reshape(k, k + 1)
        order = [np.diag(entries), entries[:, k]]
        if len(parameters) > 2 * k:
            order.append(entries[:, :k].ravel())
        found = hessian[np.ix_(*[np.concatenate(order)] * 2)]
        found[:k, :k] -= penalties.diagonal / k
        if len(parameters) > 2 * k:
            idle = 2 * k + np.arange(k) * (k + 1)  # M has an empty diagonal.
            found[idle] = found[:, idle] = 0.0
        found[np.diag_indices_from(found)] += np.repeat(
            [penalties.diagonal, penalties.bias, penalties.rest], [k, k, len(parameters) - 2 * k]
        )
        return np.asarray(found)

    def fit(self, start: Floats, penalties: Penalties, *, tolerance: float = 1e-7) -> Floats:
        """Minimise in units of curvature; ``tolerance``: share of the loss a step has to gain."""
        k = self.logs.shape[1]
        if np.isfinite(penalties.rest) and len(start) == 2 * k:
            start = np.concatenate([start, np.zeros(self.directions.size or k * k)])
        if self.directions.size or k > _MOST_CURVED:
            return self._descended(start, penalties, np.eye(0), tolerance, 500)[0]
        for _ in range(_TIMES):
            curvature = self.curvature(start, penalties)
            curvature[np.diag_indices_from(curvature)] += 1e-9 * curvature.max()
            units = np.linalg.inv(np.linalg.cholesky(curvature)).T
            start, ended = self._descended(start, penalties, units, tolerance, _STEPS)
            if ended:
                break
        return start

    def _descended(
        self, start: Floats, penalties: Penalties, units: Floats, tolerance: float, steps: int
    ) -> tuple[Floats, bool]:
        """Take steps that are alike in ``units`` (P, P); return the end, and if it is final."""
        from scipy.optimize import minimize

        def value(u: Floats) -> tuple[float, Floats]:
            if not units.size:
                return self.penalised(u, penalties)
            total, gradient = self.penalised(start + units @ u, penalties)
            return total, units.T @ gradient

        found = minimize(
            value,
            np.zeros_like(start) if units.size else start,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": steps,
                "ftol": tolerance,
                "gtol": 1e-4 if units.size else 1e-6 * len(self.labels),
            },
        )
        end = start + units @ found.x if units.size else found.x
        return np.asarray(end), found.status != 1


def _parts(parameters: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    return parameters[:k], parameters[k : 2 * k], parameters[2 * k :].reshape(k, -1)


def fit_affine(
    calibration: Dataset, penalties: Mapping[float, Penalties], *, centred: bool, keep_class: bool
) -> State:
    """Fit with ``penalties`` of the strength, strongest first, that predicts left-out rows best."""
    offset = _best_offset(calibration) if centred else 0.0
    logs = centred_logs(calibration.probabilities, offset, centred)
    k = logs.shape[1]
    unit = float(np.sqrt(np.mean(logs**2))) or 1.0
    logs /= unit
    candidates = [
        replace(item, diagonal=item.diagonal / unit**2, rest=item.rest / unit**2)
        for item in penalties.values()
    ]
    has_rest = np.isfinite(candidates[0].rest)
    problem = AffineProblem(
        logs,
        calibration.labels,
        _directions(logs) if has_rest else np.empty((k, 0)),
        as_weights(calibration.weights),
    )
    start = np.concatenate([np.full(k, unit), np.zeros(k)])
    some, best = _some(*logs.shape), 0
    if len(candidates) > 1:
        fold = np.arange(len(some)) % _FOLDS
        if calibration.units is not None:
            fold = random_folds(calibration.units, len(logs), _FOLDS)[some]
        best = best_candidate(problem.rows(some), start, candidates, fold, 1e-4)
    if len(some) < len(logs):  # Near the end already, steps over all rows are few.
        start = problem.rows(some).fit(start, candidates[best])
    # A tenth of a nat is nothing beside the noise of many classes; logs that are not centred get
    # there by far smaller steps.
    tolerance = 1e-6 if centred and problem.directions.size else 1e-7
    w, b, rest = _parts(problem.fit(start, candidates[best], tolerance=tolerance), k)
    return {
        "centred": centred,
        "offset": offset,
        "diagonal": w / unit,
        "bias": b,
        "rest": rest / unit,
        "directions": problem.directions,
        "strength": list(penalties)[best],
        "keep_class": keep_class,
    }


def centred_logs(probabilities: Floats, offset: float, centred: bool) -> Floats:
    """Return x of probabilities (n, K); see :class:`State`."""
    logs = log_probabilities(probabilities + offset if offset else probabilities)
    if centred:
        logs -= logs.mean(axis=1, keepdims=True)
    return logs


def _best_offset(calibration: Dataset) -> float:
    """Return the offset with which temperature scaling fits best; offsets grow while it gains."""
    from scipy.optimize import minimize_scalar

    probabilities, labels = calibration.probabilities, calibration.labels
    some = _some(*probabilities.shape)
    probabilities, labels = probabilities[some], labels[some]
    weights = chosen_weights(as_weights(calibration.weights), some)
    best, lowest = 0.0, np.inf
    for offset in _OFFSETS:
        logs = log_probabilities(probabilities + offset)

        def loss(log_temperature: float, logs: Floats = logs) -> float:
            true = log_share(logs, labels, np.exp(-log_temperature))
            return -float(weighed(true, weights).sum())

        found = minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded", options={"xatol": 0.01})
        if not found.fun < lowest - _LEAST_GAIN:
            break
        best, lowest = offset, float(found.fun)
    return best


def _directions(logs: Floats) -> Floats:
    k = logs.shape[1]
    if k <= _MOST_CLASSES:
        return np.empty((k, 0))
    mean = logs.mean(axis=0)
    spread = logs.T @ logs - len(logs) * np.outer(mean, mean)
    return np.asarray(np.linalg.eigh(spread)[1][:, : -_DIRECTIONS - 1 : -1])


def _some(n: int, k: int) -> Ints:
    """Return random rows to choose on, in random order; all where they are not too many."""
    most = max(min(_LARGEST_FOLDED // k, _MOST_FOLDED), _FOLDS)
    return np.random.default_rng(0).permutation(n)[:most]


def best_candidate(
    problem: Any, start: Floats, candidates: Sequence[Any], fold: Ints, tolerance: float
) -> int:
    """Return which candidate predicts rows of left-out folds best; each starts from the last."""
    losses = np.zeros(len(candidates))
    for left_out in np.unique(fold):
        held_out = fold == left_out
        if held_out.all():
            continue
        fitted, held = problem.rows(~held_out), problem.rows(held_out)
        found = start
        for i, candidate in enumerate(candidates):
            found = fitted.fit(found, candidate, tolerance=tolerance)
            losses[i] += held.loss(found)
    return int(np.argmin(losses))
