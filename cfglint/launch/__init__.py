"""Lines of scripts that start a training: launcher, sizes, files, arguments. Nothing is executed."""
