"""The rules of ms-swift."""
