"""Public names of this room."""

from .binning import ConfidenceBins as ConfidenceBins, confidence_bins as confidence_bins
from .dataset import Dataset as Dataset, Target as Target
from .dataset_files import save_npz as save_npz
from .estimator import from_estimator as from_estimator
from .progress import Cancelled as Cancelled, Progress as Progress
from .texts import with_text_features as with_text_features
from .validation import InputError as InputError
