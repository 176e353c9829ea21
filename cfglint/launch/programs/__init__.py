"""Programs of launch lines, read as syntax trees: parser, arguments, trainer. Nothing of them is run or imported."""
