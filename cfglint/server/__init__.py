"""The language server: the open files of an editor as runs, and the facts about a position in them."""
