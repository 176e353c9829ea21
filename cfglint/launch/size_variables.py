"""Commands that take the processes of a node from `NPROC_PER_NODE`, and the nodes from `NNODES`."""

from __future__ import annotations

from cfglint.launch.launcher import Launcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.launch_line import LaunchLine
    from cfglint.launch.launcher import Size

SIZE_VARIABLE = "NPROC_PER_NODE"


class OfVariables(Launcher):
    """A launcher whose sizes are those of variables."""

    always_trains = True
    nodes_variable = "NNODES"

    def size_variables(self, line: LaunchLine) -> tuple[str, ...]:
        """The variable of the processes of a node."""
        return (SIZE_VARIABLE,)

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        """Why a launch does not get a size by an edit of its script, and what to change by hand."""
        per_node = wanted.per_node
        return f"the number of processes is not a number that could be edited; put `{SIZE_VARIABLE}={per_node}` before the command"
