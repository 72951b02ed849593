"""HTML by the templates beside this module: whatever a name in the data says, it stays text."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lore_core.metrics.catalogue import CATALOGUE
from lore_core.metrics.metric import POINTS
from lore_core.places.sentences import signed_gap
from lore_core.report import formats


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lore_core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {
        "p_value": formats.p_value,
        "percent": formats.percent,
        "points": POINTS.text,
        "signed_gap": signed_gap,
        "signed_points": formats.signed_points,
        "thousands": formats.thousands,
    }
    environment.globals["metrics"] = CATALOGUE
    return environment


def render(template: str, **content: object) -> Markup:
    """Fill a template.

    Parameters
    ----------
    template : str
        Its file in ``templates/``.
    **content : object
        What it shows, by the names it uses; one that is left out is an error. Text is escaped,
        unless it is Markup.

    Returns
    -------
    Markup
        HTML that another template takes as it is.
    """
    return Markup(_environment().get_template(template).render(content))


def missing(why: str) -> Markup:
    """Say why there is nothing to show.

    Parameters
    ----------
    why : str
        The reason, in plain text.
    """
    return render("missing.html", why=why)
