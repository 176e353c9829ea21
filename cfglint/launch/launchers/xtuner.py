"""xtuner, whose configs are not modelled.

Source: xtuner b934f4620 xtuner/entry_point.py.
"""

from __future__ import annotations

from cfglint.launch.launcher import Launcher


class XTuner(Launcher):
    """`xtuner train`: its lines are recognised, but no run is made of them."""

    name = "xtuner"
    commands = {"xtuner": ""}
    words = ("xtuner",)


LAUNCHERS = (XTuner(),)
