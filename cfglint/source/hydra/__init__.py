"""Hydra's command lines and compositions: overrides, defaults lists and interpolations, without Hydra.

Source: hydra-core 1.3.8 and omegaconf 2.3.1. Nothing is imported or executed, and files are opened by the caller only.
"""
