"""The page about the architecture shows the imports and the ways of the usual runs as they are; `CFGLINT_UPDATE=1` rewrites it."""

import pytest
from draw_architecture import PAGE, with_imports, with_ways


@pytest.mark.slow
@pytest.mark.parametrize("draw", [with_imports, with_ways])
def test_the_page_is_current(draw, updating):
    page = PAGE.read_text(encoding="utf-8")
    if updating:
        page = draw(page)
        PAGE.write_text(page, encoding="utf-8")
    assert page == draw(page)
