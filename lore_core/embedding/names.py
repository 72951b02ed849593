"""What feature maps are called: ``pca-20`` where it is typed, ``PCA 20-D`` where it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeGuard, get_args

from lore_core.data.validation import InputError

Method = Literal["pca", "tsne", "umap", "identity"]
METHODS: tuple[Method, ...] = get_args(Method)
#: How people write the methods.
METHOD_NAMES: dict[str, str] = {
    "pca": "PCA",
    "tsne": "t-SNE",
    "umap": "UMAP",
    "identity": "All features",
}


@dataclass(frozen=True)
class MapName:
    """A method, and the dimensions of its map."""

    method: Method  #: See :func:`~lore_core.embedding.embed.embed`
    #: Dimensions; None where they were not said, or are those of the features.
    n_components: int | None = None

    @classmethod
    def parse(cls, typed: str, argument: str, *, or_none: bool = False) -> MapName:
        """Read ``pca``, ``pca-20`` or ``tsne-3``.

        ``argument``: name of the argument or option, for the InputError; ``or_none``: whether that
        mentions ``none``, too.
        """
        method, dash, dimensions = typed.partition("-")
        if not is_method(method) or (dash and not dimensions.isdecimal()):
            raise InputError(
                f"'{argument}' must be one of {', '.join(METHODS)}{' or none' * or_none}, or one "
                f"with its number of dimensions such as 'pca-20'; got {typed!r}."
            )
        return cls(method, int(dimensions) if dash else None)

    @property
    def typed(self) -> str:
        """As options and arguments have it: ``pca-20``, ``identity``."""
        if self.method == "identity" or self.n_components is None:
            return self.method
        return f"{self.method}-{self.n_components}"

    @property
    def title(self) -> str:
        """As pages, figures, tables and reports have it: ``PCA 20-D``, ``All features``."""
        sized = self.method != "identity" and self.n_components is not None
        return METHOD_NAMES[self.method] + (f" {self.n_components}-D" if sized else "")

    @property
    def learned(self) -> bool:
        """Whether the map is learned from neighbours, which takes its time."""
        return self.method in ("tsne", "umap")


def is_method(name: str) -> TypeGuard[Method]:
    """Whether there is such a method."""
    return name in METHODS
