"""Functions that several rules of accelerate use."""

from __future__ import annotations

KEYS_COMPARED = (0, 23)  # with those that the launcher knows; before, the class cannot be created with an unknown one
SAGEMAKER = "AMAZON_SAGEMAKER"
