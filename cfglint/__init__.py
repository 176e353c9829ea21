"""What would the real framework do with these config files on this many GPUs?"""

__version__ = "0.1.0"
