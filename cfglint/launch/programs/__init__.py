"""Programs of launch lines, parsed as syntax trees: parser, arguments, trainer. Nothing of them is run or imported."""
