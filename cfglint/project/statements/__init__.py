"""What the dependency files of a repository state about the release of a package, one module for each form."""
