"""A diagram of the GPUs of a run: one cell each, in boxes that hold one replica of the model."""

from __future__ import annotations

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH = 336
TALLEST = 132  # maximum height of the diagram of known GPUs
CELLS = ((22, 5), (14, 4), (10, 3), (7, 2), (4, 1))  # (side of a cell, space between two), largest first
GHOSTS = 4  # dashed boxes for an unknown number of replicas
ROOM_FOR_TEXT = 64


class Grid:
    """Boxes of `columns` x `rows` GPUs in the diagram: the size of a cell, and the number of boxes per row and column."""

    def __init__(self, columns: int, rows: int, cell: int, gap: int) -> None:
        self.columns = columns
        self.rows = rows
        self.cell = cell
        self.gap = gap
        self.boxed = columns * rows > 1
        self.pad = gap if self.boxed else 0
        self.width = columns * (cell + gap) - gap + 2 * self.pad
        self.height = rows * (cell + gap) - gap + 2 * self.pad
        across = max((WIDTH - 2 + gap) // (self.width + gap), 0)
        self.across = across // 8 * 8 or across  # nodes have eight GPUs, and powers of two are easier to count
        self.down = max((TALLEST - 2 + gap) // (self.height + gap), 0)

    @property
    def room(self) -> int:
        """The number of boxes that fit."""
        return self.across * self.down

    def corner(self, place: int) -> tuple[int, int]:
        """The upper left corner of a box."""
        row, column = divmod(place, self.across)
        return 1 + column * (self.width + self.gap), 1 + row * (self.height + self.gap)

    def extent(self, count: int) -> int:
        """The height of a number of boxes."""
        return 2 - self.gap + -(-count // self.across) * (self.height + self.gap)

    def cells(self, places: range) -> str:
        """The path of the GPUs in some boxes, one dashed line per row of them."""
        length = self.width - 2 * self.pad
        return svg.dashes(
            (x + self.pad, y + self.pad + self.cell / 2 + row * (self.cell + self.gap), length)
            for x, y in map(self.corner, places)
            for row in range(self.rows)
        )


def draw(replicas: int | None, columns: int, rows: int) -> Markup:
    """The diagram of replicas of `columns` x `rows` GPUs, the first one highlighted; None is an unknown number.

    If they do not fit, some are left out and counted.
    """
    count = replicas if replicas is not None else 1 + GHOSTS
    grid = fitting(columns, rows, count)
    if grid is None:
        return too_large(columns * rows, replicas)
    shown = count if count <= grid.room else grid.across * max(grid.down - 1, 1) - (grid.down == 1)
    solid = range(1, shown if replicas is not None else 1)
    parts = [dashed(grid, "m1", range(1)), dashed(grid, "m", solid)]
    if grid.boxed:
        parts += [outline(grid, "o1", range(1)), outline(grid, "o", solid)]
    height = grid.extent(shown)
    if replicas is None:
        parts.append(outline(grid, "ghost", range(1, shown)))
        parts += [svg.text(x + grid.width / 2, y + grid.height / 2 + 4, "?") for x, y in map(grid.corner, range(1, shown))]
    elif shown < count:
        height += 16
        parts.append(svg.text(1, height - 3, f"and {count - shown:,} more like these", class_="left"))
    return svg.picture(WIDTH, height, *parts)


def fitting(columns: int, rows: int, count: int) -> Grid | None:
    """The grid with the largest cells in which all boxes fit, else the one with the largest cells in which several fit; None if none
    fits several.
    """
    grids = [Grid(columns, rows, cell, gap) for cell, gap in CELLS]
    for grid in grids[:4]:
        if grid.room >= count:
            return grid
    return next((grid for grid in grids[2:] if grid.room > 1), None)


def dashed(grid: Grid, name: str, places: range) -> Markup | str:
    """The GPUs of some boxes."""
    if not places:
        return ""
    dash = f"{grid.cell} {grid.gap}"
    return svg.element("path", class_=name, stroke_width=grid.cell, stroke_dasharray=dash, d=grid.cells(places))


def outline(grid: Grid, name: str, places: range) -> Markup | str:
    """The frames of some boxes."""
    if not places:
        return ""
    return svg.element("path", class_=name, d=svg.boxes(map(grid.corner, places), grid.width, grid.height))


def too_large(model: int, replicas: int | None) -> Markup:
    """A replica of more GPUs than can be drawn, as words in a frame."""
    frame = svg.element("path", class_="o1", d=svg.boxes([(1, 1)], WIDTH - 2, ROOM_FOR_TEXT - 2))
    times = "" if replicas == 1 else f", {'?' if replicas is None else f'{replicas:,}'} times"
    return svg.picture(WIDTH, ROOM_FOR_TEXT, frame, svg.text(WIDTH / 2, ROOM_FOR_TEXT / 2 + 4, f"{model:,} GPUs{times}"))
