"""Python source: the keyword arguments of a call as a document. No program is run or imported."""
