"""One thread for each process of the tests: threads of OpenMP that wait for each other spin, and steal its core."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when scikit-learn, XGBoost and LightGBM are first imported
