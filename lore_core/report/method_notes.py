"""The formulas behind the numbers, as MathML that every current browser draws by itself."""

from __future__ import annotations

from lore_core.report.markup import mathml

__all__ = ["METHOD_NOTES"]


def _i(name: str) -> str:
    return f"<mi>{name}</mi>"


def _o(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def _sub(base: str, below: str) -> str:
    return f"<msub>{base}<mrow>{below}</mrow></msub>"


def _sum(below: str) -> str:
    return f"<munder><mo>∑</mo><mrow>{below}</mrow></munder>"


def _frac(over: str, under: str) -> str:
    return f"<mfrac><mrow>{over}</mrow><mrow>{under}</mrow></mfrac>"


_I, _J = _i("i"), _i("j")
_C, _A = _sub(_i("c"), _J), _sub(_i("a"), _J)
_GAP = f"{_o('(')}{_C}{_o('−')}{_A}{_o(')')}"
_KERNEL = (
    f"{_sub(_i('k'), _i('γ'))}{_o('(')}{_sub(_i('z'), _I)}{_o(',')}{_sub(_i('z'), _J)}{_o(')')}"
)
_IN_BIN = f"{_J}{_o('∈')}{_i('β')}{_o('(')}{_I}{_o(')')}"
_SUM = _sum(_IN_BIN)
_S = f"{_sub(_i('S'), _i('γ'))}{_o('(')}{_I}{_o(')')}"
_APART = f"{_o('‖')}{_sub(_i('z'), _I)}{_o('−')}{_sub(_i('z'), _J)}{_o('‖')}"
_DISTANCE = _sub(f"<mrow>{_APART}</mrow>", "<mn>1</mn>")

_KERNEL_IS = mathml(
    f"{_KERNEL}{_o('=')}{_i('exp')}{_o('(')}{_o('−')}{_frac(_DISTANCE, _i('d') + _i('γ'))}{_o(')')}"
)
_ERROR_IS = mathml(
    f"{_S}{_o('=')}{_frac(f'{_SUM}{_GAP}{_KERNEL}', f'{_SUM}{_KERNEL}')}{_o(',')}"
    f"<mspace width='1em'/><mtext>LCE</mtext>{_o('(')}{_I}{_o(')')}{_o('=')}{_o('|')}{_S}{_o('|')}"
)
_SUMMARIES_ARE = mathml(
    f"<mtext>MLCE</mtext>{_o('=')}<munder><mi>max</mi><mi>i</mi></munder><mtext>LCE</mtext>"
    f"{_o('(')}{_I}{_o(')')}{_o(',')}<mspace width='1em'/><mtext>ALCE</mtext>{_o('=')}"
    f"{_frac('<mn>1</mn>', _i('n'))}{_sum(_I)}<mtext>LCE</mtext>{_o('(')}{_I}{_o(')')}"
)
_SQUARE = "<mn>2</mn>"
_ALL = f"<msup><mrow>{_o('(')}{_SUM}{_KERNEL}{_o(')')}</mrow>{_SQUARE}</msup>"
_EACH = f"{_SUM}<msup><mrow>{_KERNEL}</mrow>{_SQUARE}</msup>"
_SUPPORT_IS = mathml(f"{_sub(_i('n'), '<mtext>eff</mtext>')}{_o('=')}{_frac(_ALL, _EACH)}")
_SHARE = _frac(f"{_o('|')}{_i('B')}{_o('|')}", _i("n"))
_ECE_IS = mathml(
    f"<mtext>ECE</mtext>{_o('=')}{_sum(_i('B'))}{_SHARE}"
    f"{_o('|')}<mtext>conf</mtext>{_o('(')}{_i('B')}{_o(')')}{_o('−')}<mtext>acc</mtext>{_o('(')}"
    f"{_i('B')}{_o(')')}{_o('|')}{_o(',')}<mspace width='1em'/><mtext>MCE</mtext>{_o('=')}"
    f"<munder><mi>max</mi><mi>B</mi></munder>{_o('|')}<mtext>conf</mtext>{_o('(')}{_i('B')}"
    f"{_o(')')}{_o('−')}<mtext>acc</mtext>{_o('(')}{_i('B')}{_o(')')}{_o('|')}"
)
_LORE_IS = mathml(
    f"<msup>{_sub(_i('c'), _I)}<mtext>LoRe</mtext></msup>{_o('=')}"
    f"{_frac(f'{_SUM}{_A}{_KERNEL}', f'{_SUM}{_KERNEL}')}"
)

#: One paragraph a quantity, as HTML.
METHOD_NOTES = f"""
<p>Row <i>i</i> has confidence c, outcome a (1 where the prediction was right), a place z on the
feature map of d dimensions, and lies in the confidence bin β(<i>i</i>). Two rows count as near by
the Laplacian kernel</p>{_KERNEL_IS}
<p>The signed local calibration error is the kernel-weighted mean of what was promised minus what
came; positive is overconfident. Its size is the LCE:</p>{_ERROR_IS}
<p>The MLCE is the largest LCE, the ALCE the mean one. “Supported” leaves out rows with fewer than
10 effective neighbours: their error is mostly their own outcome.</p>{_SUMMARIES_ARE}
<p>How many equally weighted rows such a mean is worth:</p>{_SUPPORT_IS}
<p>The global errors compare the same averages bin by bin, wherever the rows lie; they are the limit
γ → ∞ of the local ones:</p>{_ECE_IS}
<p>LoRe replaces a confidence by the kernel-weighted accuracy of <em>calibration</em> rows j in the
same bin; a row whose bin holds none keeps its confidence:</p>{_LORE_IS}
<p>Where answering wrongly costs w and saying “unsure” costs u, the reward of a row is 0 for a right
answer, −w for a wrong one and −u for none; it is answered where the confidence reaches 1 − u/w.</p>
<p>Regions: rows whose local error is significant (exact variance of the weighted mean under “every
confidence is right”, Benjamini–Yekutieli over all rows) are joined with significant neighbours and
cut where the error falls to a share of its height. Each is found on one half of the rows and
measured on the other, both ways.</p>
<p>Intervals are 95 %. Those of ECE, MCE, ALCE and MLCE invert a test by simulation, because these
metrics grow with noise and a bootstrap of them is biased; those of the other metrics and of paired
differences are percentiles of a bootstrap that resamples the same rows for every method; those of
shares are Wilson’s. “p by chance” is the share of simulations in which every confidence is right
that show as large a value.</p>
<p class="note">Luo, Bhatnagar, Bai, Zhao, Wang, Xiong, Savarese, Ermon, Schmerling, Pavone: “Local
Calibration: Metrics and Recalibration”, UAI 2022.</p>
"""
