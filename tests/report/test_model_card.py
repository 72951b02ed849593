import json

import pandas as pd

from lore_core.report.model_card import model_card

_TABLE = pd.DataFrame({"metric": ["ECE", "MLCE"], "value": [0.034, float("nan")]})
_SHOWN = pd.DataFrame({"metric": ["ECE, points", "MLCE"], "value": ["3.4", "–"]})
_NASTY = 'my "model": <b>| [x](http://y) # 1'


def test_front_matter_and_text():
    said = [f"Rows of {_NASTY} are wrong.", ""]
    card = model_card(_TABLE, name=_NASTY, sentences=said, shown=_SHOWN, measured_on="On 9 rows.")
    _, front, text = card.split("---\n", 2)
    lines = dict(line.strip(" -").split(": ", 1) for line in front.splitlines() if ": " in line)
    assert json.loads(lines["name"]) == "ECE"
    assert lines["type"] == '"expected_calibration_error"'
    assert float(lines["value"]) == 0.034
    assert front.count("value:") == 1  # what is not known is not claimed
    assert f"- name: {json.dumps(_NASTY)}\n" in front
    assert "| ECE, points | 3.4 |" in text
    assert r"\<b\>\| \[x\](http://y) \# 1" in text
    assert _NASTY not in text
    assert text.rstrip().splitlines()[-1].startswith("On 9 rows. LoRe Lens ")
