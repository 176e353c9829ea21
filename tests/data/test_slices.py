"""Parts of a split are those that `datasets` takes."""

from cases import each_case
from cfglint.data.slices import rows_of_split


@each_case(
    ("split", "rows", "expected"),
    [
        ("train", 5, 5),
        ("train[:50%]", 5, 2),  # 2.5 is rounded to the even row
        ("train[50%:]", 7, 3),
        ("train[10%:]", 5, 5),
        ("train[:3]", 5, 3),
        ("train[:3]", 2, 2),
        ("train[-1:]", 5, 1),
        ("train[-10:]", 5, 5),
        ("train[:-2]", 5, 3),
        ("train[-20%:]", 100, 20),
        ("train[3:2]", 5, 0),
        ("train+train", 5, 10),
        ("train[:2] + train[3:]", 5, 4),
        ("train[:]", 5, 5),
        ("test", 5, None),
        ("train[:101%]", 5, None),
        ("train+test", 5, None),
        ("train[:1%](pct1_dropremainder)", 5, None),
        ("train[1]", 5, None),
        ("train[", 5, None),
        ("", 5, None),
        (None, 5, None),
        ("train[:" + "9" * 300 + "]", 5, None),
    ],
)
def test_rows(split, rows, expected):
    assert rows_of_split(split, rows) == expected
