"""What a log says about a failure: tracebacks with the exceptions that end them, memory errors, overflows, time-outs, dead processes."""

from __future__ import annotations

import re

from cfglint.explanation.log_parser import Block, blocks
from cfglint.source.annotations import Iterable
from cfglint.source.record import Record

# What launchers, torch and Ray put before the lines of a rank.
RANK = re.compile(r"^(?:\[\d+\] )?\[(?:rank|default)(\d+)\]: ?")
WORKER = re.compile(  # and vLLM before each line of an exception that it logs, pytest before its last
    r"^(?:(?:\x1b\[\d+m)?\(\w+(?:\[[^\]]*\])? ?(?:pid=\d+)[^)]*\) ?)?(?:ERROR \d\d-\d\d [\d:]{8} \[?[\w.]+:\d+\] ?)?(?:E   (?=\w+Error))?"
)
# The host that pdsh puts before each line, a logger's head, the sign of a quotation, and what only a log has behind them.
HOST = re.compile(
    r"^(?:(?!\w*(?:Error|Exception|Warning|Exit): )[A-Za-z][\w.]*[-\d][\w.-]*:|>"
    r"|\d{4}-\d\d-\d\d[ T][\d:,.]+ - [\w.]+ - [A-Z]+ -) "
    r"(?=\[(?:rank|default)\d|Traceback|\s+File |(?:\w+\.)*\w*(?:Error|Exception): |\[\d{4}-|\{')"
)
# The beginning of a traceback or a frame behind anything else that stands before each line, such as a time and a logger's name.
HEADED = re.compile(
    r'^(?!\s*File |.*\d(?:it/s|s/it))(\s*\S.*?[^\w"\s][^\w"]*?)(?=Traceback \(most recent call last\)|  File "[^"]+", line \d)'
)
HEADS = 8  # forms of them that a log may have
NUMBERED = re.compile(r"^(\d{1,4}): (?=Traceback|Exception ignored in|  |\w+(?:\.\w+)*(?:Error|Exception): )")
# A line of a traceback, the first one also without its beginning, which a selection with the mouse may miss.
FRAME = re.compile(r'^\s*(?:│ )?\s*(?:(?:File "|(?=\S*\.py"))([^"]+)", line (\d+), in (\S+)|File (\S+?):(\d+)(?:, in ([\w.]+))?)')
# A frame as notebooks print it, with the link that Colab makes of its file, and the line of code that is marked in it.
NOTEBOOK_FRAME = re.compile(r"^\[?((?:/|~|[A-Z]:\\)[^\s\]]*?\.py)\]?(?:\(https?://[^)]*\))? in ([\w.<>]+)\(")
NOTEBOOK_LINE = re.compile(r"^-+> ?(\d+)\b")
BOXED_FRAME = re.compile(r"^│ (\S+?\.py):(\d+) in (\S+)")
RAISED = re.compile(r"^((?:\w+\.)*(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Exit|Warning|Failure|Violation)): ?(.*)$")
DOUBLED = re.compile(r"^(\w+(?:Error|Exception))\1: : ")  # the lines of two ranks, each of which Python writes in two parts
NAMED = re.compile(  # by the module of the class, or the last word of its name
    r"^((?:\w+\.)*(?:errors?|exc|exceptions)\.[A-Z]\w+|(?:[a-z_]\w*\.)+[A-Z]\w*(?:Invalid|Timeout|NotFound|Enabled|Implemented)): (.*)$"
)
RAISED_IN_TRACEBACK = re.compile(r"^((?:\w+\.)*[A-Za-z_]\w*)(?:: (.*))?$")
REFUSED = re.compile(
    r"^(?:usage: .*)?(?!srun:|sbatch:|salloc:|slurmstepd)(?:[^\s:]+(?: <command> \[<args>\])?: )?"
    r"(?:(?<=: )|(?=error: (?:argument |the following arguments are|unrecognized arg)))error: (.*)$"
    r"|^[A-Za-z][\w. -]+: error: ((?:argument |the following arguments are|unrecognized arg).*)$"
)
# What compiled code prints before it aborts: a check of C's, and an exception of C++'s with its class in the line before.
CHECKED = re.compile(r"^(?:[^\s:]+: )?(\S+?:\d+): .*: Assertion [`'](.*)' failed\.?")
NOTHING = "NoneType"
OF_KERNEL = re.compile(r"thread: \[[\d,]+\] Assertion [`'](.*)[`'] failed")
OF_OTHERS = ("torch/nn/modules/module.py", "torch/cuda/__init__.py", "<string>")  # attributes, waiting for a kernel, what `exec` runs
HANDLED = re.compile(r" with error <class '([\w.]+)'>: (.+)$")  # what `datasets` logs of an exception in whose place it raises another
THROWN = re.compile(r"^terminate called after throwing an instance of '([\w:]+)'")
WHAT = re.compile(r"^\s*what\(\):  ?(.+)")
BARE = ("AssertionError", "EOFError", "MemoryError", "NotImplementedError", "StopIteration", "KeyboardInterrupt")  # without a message
MARKED = ("*", "`", '"')
BARE_NAME = re.compile(r"^(?:[a-z_]\w*\.)+[A-Z]\w*(?:Error|Exception)$")
DECORATED = re.compile(  # of a line that is copied from Markdown, or quoted; the message of an exception may go on in the next
    r"""^(?:([*`]{1,3}|")([A-Z].*?)\1,?\s*$|[*`]{1,3}((?:\w+\.)*[A-Z]\w*(?:Error|Exception): .*))"""
)
UNMARKED = re.compile(r"\b([A-Z]\w*)\.init\(\)")
VLLM_MEMORY = "CUDA Error: out of memory at "  # of its allocator, which prints only this
TORCH_MEMORY = "CUDA out of memory. Tried to allocate "  # of torch, where its class is not copied
BNB_MEMORY = "Error out of memory at line "
REFUSED_OVERRIDE = "Could not override '"  # what Hydra says, without a traceback, of an override that it refuses
NCCL_WARNING = " NCCL WARN "
STARTS = "Traceback (most recent call last)"
CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
LOGGING_ERROR, LAST_OF_LOGGING_ERROR = "--- Logging error ---", "Arguments: "  # a message that the logging module cannot format
UNRAISABLE = "Exception ignored in"  # of a destructor or at exit: Python prints its traceback and goes on
IN_WORDS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")  # what a person wrote below a message in English
CONTINUED = 12  # lines of a message after its first
BEHIND_FRAME = 3  # lines at the end of a log, which are the code of its last frame
LOGGED = re.compile(
    r"^\S*\d{4}-\d\d-\d\d|^\[?(?:INFO|WARNING|ERROR|E|W|I)\b|^\s*\d+%\||^\{'|^Set(?:ting)? |^\[?[EFIW]\d{3,4} |^\s*File |^\[rank"
    r"|^[\w ]+: +\d+%\||^=====|^-----|^$|^\W?\d\d?[:/]\d\d[:/]\d\d|^[A-Z][a-z]{2} +\d+ \d\d:|.*\d(?:it/s|s/it)\b"
    r"|^(?:wandb|swanlab|mlflow|comet_ml|srun|slurmstepd|mpirun|make|bash): |^\S+: line \d+: |^\"{3}|^(?:DEBUG|CRITICAL|NOTICE)\b"
    r"|^[\w.]+:(?:INFO|WARNING|ERROR):|^\S* ?- (?:INFO|WARNING|ERROR) |^(?i:step|epoch|iter(?:ation)?)\b[ =:]*\d"
)

STEP = re.compile(r"""^\s*\{'loss':|\bstep:\d+ - .*\bgrad_norm|'grad_norm':|\bgrad norm:|\bloss[ =:]""")
NOT_A_NUMBER = re.compile(
    r"""(?:'(?:\w+_)?(?:loss|grad_norm)': '?(?:nan|inf)\b|(?<![a-z])loss\w*(?: is| value)?[ :=]+(?:nan|inf)\b"""
    r"""|grad_?\s?norm'?[ :=]+(?:tensor\()?nan\b)""",
    re.IGNORECASE,
)
RATE = re.compile(r"'learning_rate': '?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
LOSS = re.compile(r"'loss': '?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
NORM = re.compile(r"'grad_norm': '?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
SPREAD = re.compile(r"'reward_std': '?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
REWARDED = "'reward'"  # of GRPO and its like, whose loss begins at 0
OVERFLOW = re.compile(
    r"OVERFLOW!|[Gg]rad(?:ient)? overflow(?! on iteration:? \d+\s*$)|loss scale overflow|overflow detected", re.IGNORECASE
)
SKIPPED = re.compile(r"\bstep=(\d+), skipped=(\d+)")
ENDED = "'train_runtime':"  # the Trainer's last line
UNTRAINED = re.compile(r"'train_loss': '?0(?:\.0*)?'?[,}]")
SCALE = re.compile(r"(?:reducing (?:loss scale )?to|loss scale to|reducing to) *([\d.]+(?:e[+-]?\d+)?)", re.IGNORECASE)
POTENTIAL = "There are some potential root causes"  # of Ray, which lists signals that a worker may have got
KILLING = frozenset(
    ("ill", "KILL", "-9", "Bus error", "Segmentation", "Aborted", "Out Of Memory", "memory limit", "memory issue", "Floating point")
)
# A line has one of these, or says nothing about a failure.
SIGNS = (
    *("rror", "xception", "Traceback", "File ", "Interrupt", "Exit", "Failure", "Violation", "exc.", "Invalid", "Timeout", "NotFound"),
    *("Enabled", "Implemented", "StopIteration", "what()", "terminate called", "Assertion", "out of memory", "Could not override"),
    *(
        "Exception ignored",
        "During handling",
        "assert ",
        "nan",
        "NaN",
        "inf",
        "loss",
        "grad",
        "{'",
        "verflow",
        "OVERFLOW",
        "skipped=",
        ENDED,
    ),
    *KILLING,
    *(
        "atchdog",
        "CANCELLED AT",
        "not found",
        "Node failure",
        NCCL_WARNING,
        " PD",
        " PENDING",
        "ed with ",
        "exitcode",
        "exits with",
        "got signal",
        "rank ",
    ),
)
TIMED_OUT = re.compile(r"Watchdog caught collective operation timeout: WorkNCCL\((?:SeqNum=(\d+), )?OpType=(\w+).*?Timeout\(ms\)=(\d+)\)")
STUCK = re.compile(r"watchdog got stuck for (\d+) seconds")
TIMED_OUT_RANK = re.compile(r"\[(?:[^\]]*)?Rank (\d+)\]")
DEAD = re.compile(r"(?:exitcode *:?|exits with return code =) *(-?\d+)|got signal: (\d+)")
NAMED_RANK = re.compile(r"\s*rank +: (\d+)")
LOCAL_RANK = re.compile(r"local_rank: (\d+)")
KILLED = re.compile(
    r"killed by signal: (\w[\w ]*)|oom[-_]kill|OOM ?Killed|: Out Of Memory"
    r"|[Oo]ut of memory: Killed|SIGKILL|exits with return code = -9\b"
    r"|(?:: line \d+: +\d+ |^)"
    r"(Killed|Bus error|Segmentation fault|Aborted|Illegal instruction|Floating point exception)\b(?: +\(core dumped\))?"
    r"|killed due to (?:memory pressure|the node running low on memory)|Exceeded job memory limit|address the out of memory issue: https://docs\.ray"
)
REFUSED_JOB = re.compile(
    r"^(?:sbatch|srun|salloc|slurmstepd(?=.*execve)): error: (?:.*(?:job submission failed|Unable to (?!create step)[a-z ]*?)[^:]*: )?"
    r"(?!Unable(?! to create step)|.*: tasks? \d|Node failure)(.+)$"
)
MOST_REFUSALS = 20  # lines of Slurm that are kept
NODE_FAILED = "srun: error: Node failure on "
PENDING = re.compile(r" (?:PD|PENDING) .*\(([A-Za-z][\w ,:]*)\)\s*$")
EXITED = re.compile(
    r"^(?:srun: error: (\S+): (tasks? [\d,-]+): Exited|command terminated"
    r"|(?:Process|Job|Pod|Container|RuntimeError: Step)\b.{0,60}?(?:finished|exited|terminated|failed))"
    r" with (?:exit |non-zero )?(?:code|status):? ?([1-9]\d*)",
    re.IGNORECASE,
)
SPLIT_LINE = re.compile(r": (?:line )?\d+: (--?[A-Za-z][\w.-]*)(?:=\S*)?: (?:command )?not found$")
CANCELLED = re.compile(r"error: \*\*\* (JOB|STEP) \S+ ON \S+ CANCELLED AT [\d:T-]+(?: DUE TO ([A-Z ]*[A-Z]))?")


class StackFrame(Record):
    """A line of a traceback: file, line, function."""

    file: str
    line: int
    function: str


class Raised(Record):
    """An exception that a log shows: its line, its rank if the line says it, its class and message, and the frames of its traceback.

    `after` is the exception that was being handled when it was raised, `condition` the assertion that failed without a message, or the
    line of code that found nothing where it needs a value. `unwrapped` is the message if its lines are parts of a longer one, `code` the
    line of code that raised it.
    """

    line: int
    rank: int | None
    name: str
    message: str
    frames: list[StackFrame]
    after: Raised | None = None
    condition: str = ""
    unwrapped: str = ""
    code: str = ""

    @property
    def file(self) -> str:
        """The file in which it was raised, not one that raises for the code that calls it; empty without a traceback."""
        return next((frame.file for frame in reversed(self.frames) if not frame.file.endswith(OF_OTHERS)), "")

    @property
    def text(self) -> str:
        """The exception as Python prints it."""
        return f"{self.name}: {self.message}" if self.message else self.name


class Timeout(Record):
    """A collective operation that a rank gave up: its line, rank, number, kind and the seconds that it waited."""

    line: int
    rank: int | None
    number: int
    operation: str
    seconds: int


class Dead(Record):
    """A process that a launcher found dead: the line, its rank if it is said, its exit code, and which task of Slurm it was."""

    line: int
    rank: int | None
    code: int
    task: str = ""


class Events:
    """Everything in a log that tells about a failure; `scales` are the loss scales of overflows, `steps` the lines of logged steps."""

    def __init__(self) -> None:
        self.raised: list[Raised] = []
        self.timeouts: list[Timeout] = []
        self.dead: list[Dead] = []
        self.killed: list[tuple[int, str]] = []
        self.cancelled: tuple[int, str] | None = None  # by Slurm: the line and the reason
        self.split_at: tuple[int, str] | None = None  # an argument that the shell took for a command
        self.refused: list[tuple[int, str]] = []  # by Slurm: each line and what it says
        self.pending: tuple[int, str] | None = None  # by Slurm: the line and the reason that `squeue` shows
        self.not_numbers: list[int] = []
        self.evaluated: list[int] = []  # those of them that are of an evaluation
        self.overflows: list[int] = []
        self.scales: list[float] = []
        self.steps: list[int] = []
        self.rates: list[tuple[int, float]] = []  # the logged learning rates, with their lines
        self.losses: list[tuple[int, float]] = []  # the same of losses, of norms of gradients, and of rewards within a group
        self.norms: list[tuple[int, float]] = []
        self.spreads: list[tuple[int, float]] = []
        self.skipped = 0, 0, 0  # the line of DeepSpeed's last count, with the steps and those that were skipped
        self.named: tuple[int, int | None] = 0, None  # the last rank that torch's summary of dead processes names, with its line
        self.warned: tuple[int, str] | None = None  # the first warning of NCCL itself
        self.stuck: tuple[int, int] | None = None  # the line and the seconds after which the watchdog of NCCL itself gave up
        self.asserted: tuple[int, str] | None = None  # the first check of a kernel that failed: the line and the condition
        self.cut: tuple[int, list[StackFrame]] | None = None  # a traceback that ends before its exception: its line and its frames
        self.ended = 0  # the line with which the Trainer ends
        self.untrained = False  # whether that line has a loss of 0, that of no step
        self.lines = 0
        self.last = 0, ""  # the last line that is not blank

    def logged(self, rewarded: bool) -> tuple[tuple[re.Pattern[str], list[tuple[int, float]]], ...]:
        """The numbers that are kept of a logged step, which may be one of a training by rewards."""
        return ((SPREAD, self.spreads),) if rewarded else ((RATE, self.rates), (LOSS, self.losses), (NORM, self.norms))

    def __bool__(self) -> bool:
        ends = (
            self.raised
            or self.timeouts
            or self.dead
            or self.killed
            or self.cancelled
            or self.refused
            or self.pending
            or self.split_at
            or self.cut
            or self.stuck
        )
        return bool(ends or self.split_at or self.cut or self.not_numbers or self.overflows)


class _Traceback:
    """The traceback of one rank that is being read; `message` collects the lines of the exception that ended it."""

    def __init__(self) -> None:
        self.frames: list[StackFrame] = []
        self.open = False
        self.ended: Raised | None = None
        self.last: Raised | None = None
        self.condition = ""  # the last line of code that is an assertion
        self.code = ""  # the line of code below the last frame
        self.chained = False  # whether the next exception follows from the last one
        self.unraisable = False  # whether Python ignores the exception of the next traceback
        self.logging = False  # whether the lines are those of a message that cannot be formatted, which ends nothing
        self.thrown = "std::exception"  # the class of the last exception of C++
        self.continued = 0
        self.begun = 0, ""  # the line of the last one, and the class of its exception where a notebook names it first
        self.framed = 0  # the line of the last frame


class Reading:
    """A log that is being read: what it says about a failure so far, and the traceback of each rank."""

    def __init__(self) -> None:
        self.events = Events()
        self.readers: dict[int | None, _Traceback] = {}
        self.heads: dict[str, re.Pattern[str]] = {}
        self.is_inside = False  # whether any line may belong to a traceback or a message
        self.kills = False  # whether the block has a word of a process that was killed

    def take(self, block: Block) -> None:
        """Take some lines, of which those without any sign matter only inside of a traceback or a message."""
        words = block.words(SIGNS)
        self.kills = not KILLING.isdisjoint(words)
        for number, text in block.lines if words or self.is_inside else ():
            if self.is_inside or any(word in text for word in words):
                self.take_line(number, text)
        self.events.lines = block.lines[-1][0]
        self.events.last = next((each for each in reversed(block.lines) if each[1].strip()), self.events.last)

    def take_line(self, number: int, text: str) -> None:
        """Take a line without what stands before it, as that of its rank."""
        rank, content = rank_of(text)
        if (STARTS in content or '  File "' in content) and (headed := HEADED.match(content)) and len(self.heads) < HEADS:
            shape = re.sub(r"\d+", r"\\d+", re.escape(headed.group(1)))
            self.heads.setdefault(shape, re.compile(re.sub(r"(rank[\s:]*)\\d\+", r"\1(\\d+)", shape, count=1, flags=re.IGNORECASE)))
        for head in self.heads.values():
            if match := head.match(content):
                rank, content = int(match.group(1)) if match.lastindex else rank, content[match.end() :]
                break
        take_traceback(self.events, self.reader_of(rank, content), number, rank, content)
        take_signs(self.events, number, rank, content)
        if self.kills and (killed := KILLED.search(content.partition(POTENTIAL)[0])):
            self.events.killed.append((number, killed.group(1) or killed.group(2) or "SIGKILL"))
        self.is_inside = any(reader.open or reader.ended or reader.logging for reader in self.readers.values())

    def reader_of(self, rank: int | None, text: str) -> _Traceback:
        """The traceback of a rank; the first lines that are copied may lack it, so their message goes on in lines that have one."""
        first = self.readers.get(None)
        if rank not in self.readers and first is not None and first.ended is not None and STARTS not in text and not FRAME.match(text):
            return first
        return self.readers.setdefault(rank, _Traceback())

    def end(self) -> Events:
        """What the whole log says, also of a traceback that is cut."""
        events = self.events
        for rank, reader in self.readers.items() if not events.raised else ():
            line, name = reader.begun
            line = line or (reader.framed if events.lines - reader.framed <= BEHIND_FRAME else 0)
            if reader.open and line and name.isidentifier():
                events.raised.append(Raised(line, rank, name, "", reader.frames))
            elif reader.open and line and reader.condition:  # one that fails has no more to say than its code
                events.raised.append(Raised(line, rank, "AssertionError", "", reader.frames, condition=reader.condition))
            elif reader.open and line and events.cut is None:
                events.cut = line, reader.frames
        return events


def read(lines: Iterable[str]) -> Events:
    """What a log says about a failure."""
    reading = Reading()
    for block in blocks(lines):
        reading.take(block)
    return reading.end()


def rank_of(text: str) -> tuple[int | None, str]:
    """The rank before a line, and the line without it."""
    text = text.removeprefix("stderr: ")
    host = HOST.match(text) if text[:1].isalnum() or text[:1] == ">" else None
    text = text[host.end() :] if host else text
    if text[:1] in MARKED and (plain := DECORATED.match(text)):
        text = plain.group(2) or plain.group(3)
    if ".init() " in text:  # Markdown takes the underscores of a name for its own marks
        text = UNMARKED.sub(r"\1.__init__()", text)
    if "\u2018" in text:  # a quotation mark of a word processor
        text = text.replace("\u2018", "'").replace("\u2019", "'")
    for pattern in (RANK, NUMBERED):
        match = pattern.match(text)
        if match:
            return int(match.group(1)), text[match.end() :]
    return None, WORKER.sub("", text)


def take_traceback(events: Events, reader: _Traceback, number: int, rank: int | None, text: str) -> None:
    """Take a line as a part of a traceback or of the message that ends it."""
    if reader.logging or text.startswith(LOGGING_ERROR):
        reader.logging = not text.startswith(LAST_OF_LOGGING_ERROR)
        return
    if text.startswith(CHAINED):
        reader.chained = True
    if text.startswith(UNRAISABLE):
        reader.unraisable = True
    if STARTS in text:
        reader.open, reader.frames, reader.ended = True, [], None
        reader.begun = number, text.partition(STARTS)[0].strip()
        return
    if reader.open and ".py" in text and (notebook := NOTEBOOK_FRAME.match(text)):
        reader.frames.append(StackFrame(notebook.group(1), 0, notebook.group(2)))
        return
    if reader.open and reader.frames and reader.frames[-1].line == 0 and (marked := NOTEBOOK_LINE.match(text)):
        reader.frames[-1].line = int(marked.group(1))
    frame = FRAME.match(text) if "File " in text or '.py", line ' in text else BOXED_FRAME.match(text) if reader.open else None
    if frame:
        reader.begun, reader.framed = reader.begun if reader.open else (0, ""), number
        reader.open, reader.ended = True, None
        file, line, function, *rest = (*frame.groups(), None, None, None)[:6]
        name, place = (file, line) if file else (rest[0] or "", rest[1])
        reader.condition = reader.code = ""
        reader.frames.append(StackFrame(name, int(place or 0), (function or rest[2] or "").rpartition(".")[2]))
        return
    if handled := HANDLED.search(text) if " with error <class '" in text else None:
        reader.last, reader.chained = Raised(number, rank, handled.group(1), handled.group(2), []), True
        events.raised.append(reader.last)
    if thrown := THROWN.match(text) if text.startswith("terminate") else None:
        reader.thrown = thrown.group(1)
    if text.lstrip().startswith("assert "):
        reader.condition = text.strip()
    if reader.open and not reader.code and text.startswith("  "):
        reader.code = text.strip()
    exception = thrown_in(text, reader.thrown) or exception_in(text, reader.open)
    if exception is not None and reader.unraisable:
        reader.frames, reader.open, reader.ended, reader.unraisable = [], False, None, False
    elif exception is not None:
        condition = reader.condition if exception == ("AssertionError", "") else reader.code if NOTHING in exception[1] else ""
        after = reader.last if reader.chained else None
        reader.ended = Raised(number, rank, *exception, reader.frames, after, condition, code=reader.code)
        reader.last, reader.chained = reader.ended, False
        reader.frames, reader.open, reader.continued = [], False, 0
        events.raised.append(reader.ended)
    elif reader.ended is not None:
        go_on(reader, text)


def thrown_in(text: str, thrown: str) -> tuple[str, str] | None:
    """What compiled code says before it aborts: the class and the message of an exception of C++, or a check of C's that failed."""
    if what := WHAT.match(text) if "what()" in text else None:
        return thrown, what.group(1)
    failed = CHECKED.match(text) if "Assertion" in text else None
    return ("Assertion", f"{failed.group(2)} ({failed.group(1).rpartition('/')[2]})") if failed else None


def exception_in(text: str, in_traceback: bool) -> tuple[str, str] | None:
    """The class and the message of an exception that a line shows; None for other lines."""
    text = DOUBLED.sub(r"\1: ", text.rstrip()) if ": : " in text else text.rstrip()
    if not text[:1].isalpha() and not text.startswith("_") and "error: " not in text:  # `_pickle.PicklingError`
        return None
    if text.startswith((VLLM_MEMORY, BNB_MEMORY)) or (text.startswith(TORCH_MEMORY) and not in_traceback):
        return "OutOfMemoryError", text
    if text in BARE or BARE_NAME.match(text):
        return text, ""
    if text.startswith(REFUSED_OVERRIDE) and not in_traceback:
        return "hydra.errors.ConfigCompositionException", text
    match = RAISED.match(text) or NAMED.match(text)
    if match and not match.group(1).endswith("Warning"):
        return match.group(1), match.group(2)
    refused = REFUSED.match(text) if "error: " in text and not in_traceback else None
    if refused:
        return "SystemExit", f"2 (error: {refused.group(1) or refused.group(2)})"
    other = RAISED_IN_TRACEBACK.match(text) if in_traceback and text[:1].isalpha() else None
    if other is None or other.group(1) == "error" or (text == other.group(1) and text.islower() and "." not in text):  # a line that is cut
        return None
    return other.group(1), other.group(2) or ""


def go_on(reader: _Traceback, text: str) -> None:
    """Add a line to the message of the exception before it, unless it is another line of the log."""
    ended = reader.ended
    if ended is not None and not text.strip() and (not ended.message.strip() or ended.message.endswith(":")):
        return  # the message goes on below an empty line
    is_other = (
        LOGGED.match(text)
        or text.startswith((*CHAINED, UNRAISABLE))
        or (ended is not None and ended.text.isascii() and IN_WORDS.search(text))
    )
    if ended is None or reader.continued >= CONTINUED or is_other:
        reader.ended = None
        return
    reader.continued += 1
    ended.unwrapped = f"{ended.unwrapped or ended.message}{text.rstrip()}"
    ended.message = f"{ended.message.rstrip()} {text.strip()}"


def take_signs(events: Events, number: int, rank: int | None, text: str) -> None:
    """Take a line that tells of steps, overflows, time-outs or dead processes; logs are long, so each is looked for by a word first."""
    if ("nan" in text or "NaN" in text or "inf" in text) and NOT_A_NUMBER.search(text):
        events.not_numbers.append(number)
        events.evaluated.extend([number] * ("eval" in text))
    elif ("loss" in text or "grad" in text) and STEP.search(text):
        events.steps.append(number)
    for pattern, kept in events.logged(REWARDED in text) if text.lstrip().startswith("{'") else ():
        match = pattern.search(text)
        if match:
            kept.append((number, float(match.group(1))))
    if ("verflow" in text or "OVERFLOW" in text) and OVERFLOW.search(text):  # of fp16, with the loss scale that follows
        events.overflows.append(number)
        scale = SCALE.search(text)
        if scale:
            events.scales.append(float(scale.group(1)))
    if events.asserted is None and (checked := OF_KERNEL.search(text) if "block: [" in text else None):
        events.asserted = number, checked.group(1)
    if events.warned is None and NCCL_WARNING in text:
        events.warned = number, text.partition(NCCL_WARNING)[2]
    counted = SKIPPED.search(text) if "skipped=" in text else None
    if counted:
        events.skipped = number, int(counted.group(1)), int(counted.group(2))
    if ENDED in text:
        events.ended, events.untrained = number, UNTRAINED.search(text) is not None
    if "atchdog" in text:
        take_timeout(events, number, rank, text)
    cancelled = CANCELLED.search(text) if "CANCELLED AT" in text else None
    if cancelled and (events.cancelled is None or cancelled.group(2)):
        events.cancelled = number, (cancelled.group(2) or "").lower()
    split = SPLIT_LINE.search(text) if text.endswith("not found") else None
    if split and events.split_at is None:
        events.split_at = number, split.group(1)
    if text.startswith(NODE_FAILED):
        events.cancelled = events.cancelled or (number, "node failure")
    pending = PENDING.search(text) if " PD" in text or " PENDING" in text else None
    if pending and events.pending is None:
        events.pending = number, pending.group(1)
    refused = REFUSED_JOB.search(text) if ": error: " in text[:20] else None
    if refused and len(events.refused) < MOST_REFUSALS:
        events.refused.append((number, refused.group(1)))
    exited = EXITED.search(text) if " with " in text and ("code" in text or "status" in text) else None
    if exited:
        host, task, code = exited.groups()
        each = "each of " if host and task.startswith("tasks") else ""
        events.dead.append(Dead(number, None, int(code), f"{each}{task} on {host}" if host else ""))
    if "exitcode" in text or "exits with" in text or "got signal" in text:
        take_dead(events, number, text)
    named = NAMED_RANK.match(text) if "rank" in text else None
    if named:
        events.named = number, int(named.group(1))


def take_timeout(events: Events, number: int, rank: int | None, text: str) -> None:
    """Take the line with which a rank gives up a collective operation."""
    match, stuck = TIMED_OUT.search(text), STUCK.search(text)
    if stuck:
        events.stuck = events.stuck or (number, int(stuck.group(1)))
    if match:
        named = TIMED_OUT_RANK.search(text)
        operation, waited = match.group(2), int(match.group(3)) // 1000
        events.timeouts.append(Timeout(number, int(named.group(1)) if named else rank, int(match.group(1) or 0), operation, waited))


def take_dead(events: Events, number: int, text: str) -> None:
    """Take a line with the exit code of a process; its rank is in the line or, in torch's summary, in the line before."""
    dead, local = DEAD.search(text), LOCAL_RANK.search(text)
    code = int(dead.group(1) or f"-{dead.group(2)}") if dead else 0
    if code:
        line, rank = events.named
        rank = int(local.group(1)) if local else rank if line == number - 1 else None
        events.dead.append(Dead(number, rank, code))
