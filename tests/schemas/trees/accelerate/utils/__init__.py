from .dataclasses import Environment
