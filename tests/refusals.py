"""What every refusal of data must be: one sentence, of a length that is read."""

import pytest

from lore_core.data.validation import InputError
from lore_core.reading import load


def refused(source, message, **options):
    with pytest.raises(InputError, match=message) as caught:
        load(source, **options)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 600
    return told
