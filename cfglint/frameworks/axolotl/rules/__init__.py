"""The rules of axolotl."""
