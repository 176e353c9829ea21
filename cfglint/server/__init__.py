"""The language server: the open files of an editor as runs, and what cfglint knows of them at a position."""
