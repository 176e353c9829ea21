"""The rules about configs of accelerate's launcher, and the calls of `Accelerator` in programs."""
