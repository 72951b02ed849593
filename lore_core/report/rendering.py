"""Rendering of the templates beside this module; names in the data stay text."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lore_core.data import number_text
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.metrics.glossary import GLOSSARY


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
        "decimal": number_text.decimal,
        "p_value": number_text.p_words,
        "percent": number_text.percent,
        "points": number_text.POINTS.text,
        "share": number_text.share_words,
        "signed_gap": number_text.signed_gap,
        "signed_points": number_text.signed_points,
        "thousands": "{:,.0f}".format,
        "unbroken": lambda text: Markup(number_text.unbroken(text)),
    }
    environment.globals |= {"metrics": CATALOGUE, "words": GLOSSARY}
    return environment


def render(template: str, **content: object) -> Markup:
    """Fill a template in ``templates/``; a name it uses that is left out is an error.

    Text is escaped, unless it is Markup, such as what this returns.
    """
    return Markup(_environment().get_template(template).render(content))


def missing(why: str) -> Markup:
    """Say in plain text why there is nothing to show."""
    return Markup('<p class="missing">{}</p>').format(why)
