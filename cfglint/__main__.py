"""`python -m cfglint`."""

from cfglint.cli import program

if __name__ == "__main__":
    program()
