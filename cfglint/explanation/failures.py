"""What went wrong in a training, from its log: the first failure that is not the consequence of another, and what to do about it."""

from __future__ import annotations

import math
import re
from itertools import islice, starmap

from cfglint.explanation import failure_parser, released, unknown_keyword
from cfglint.explanation.failure_parser import Dead, Events, Raised, StackFrame
from cfglint.explanation.known_failures import KnownException, facts, known_exception, known_warning, words_of_warnings
from cfglint.explanation.log_parser import blocks, pieces
from cfglint.explanation.predicted import is_about, of_one_framework, rules_of
from cfglint.findings.wording import counted
from cfglint.source.annotations import ConfigTable, Iterable, Iterator
from cfglint.source.record import Record

OUT_OF_MEMORY = "out-of-memory"
EXCEPTION = "exception"
NOT_A_NUMBER = "not-a-number"
OVERFLOW = "overflow"
TIMEOUT = "timeout"
KILLED = "killed"
REFUSED = "refused"
ZERO = "zero"
NOTICE = "notice"
SPLIT_RULE = "LCH001"

MEMORY = re.compile(r"(?:CUDA|HIP|NPU|XPU|MPS)(?: backend)? (?:error: )?out of memory|OutOfMemoryError", re.IGNORECASE)
# Exceptions that follow from the failure of another process, and those of launchers about their processes.
FOLLOWING = re.compile(
    r"ChildFailedError|CalledProcessError(?!: Command '\['which')"
    r"|ProcessRaisedException|ProcessExitedException|SignalException|DistBackendError|DistNetworkError"
    r"|ray\.exceptions\.(?:OutOfMemory|ActorDied|RayActor|WorkerCrashed)Error"
    r"|^RuntimeError: Step \d exited with non-zero status|DistStoreError|NCCL|Connection (?:reset|closed|refused)|Broken pipe|RayTaskError"
    r"|^KeyboardInterrupt|process \d+ terminated with exit code"
    r"|^SystemExit: 1$|Socket Timeout|store->get|DataLoader worker .* exited unexpectedly"
    r"|: Caught \w+ in (?:replica|DataLoader worker|pin memory)"
)
SUMMARY = re.compile(r"ChildFailedError$")  # torch's summary of dead processes
# Exceptions that say no more than that another one, which may come after them, ended something.
WRAPPING = re.compile(r"DatasetGenerationError|failed in the TorchScript interpreter|backend='\w+' raised:\s*$")
SENTENCE = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}")  # two words, which a line of signs or numbers does not have
LEAST_SCALE = re.compile(r"loss scale already at minimum")
SIZE = r"([\d.]+) ?([KMGT]i?B|bytes)"
TRIED = re.compile(rf"Tried to allocate {SIZE}")
CAPACITY = re.compile(rf"total capac\w+ of {SIZE}|; {SIZE} total capacity")
FREE = re.compile(rf"of which {SIZE} (?:is|are) free|{SIZE} free")
ALLOCATED = re.compile(rf"{SIZE} is allocated by PyTorch|{SIZE} already allocated")
UNUSED = re.compile(rf"{SIZE} is reserved by PyTorch but unallocated")
OTHERS = re.compile(rf"Process \d+ has {SIZE} memory in use")
UNITS = {"bytes": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
GIB = 1 << 30
FRAGMENTED = 2 * GIB  # reserved and unused memory that is worth a remark

OF_STEP, OF_SETUP = r"optim|deepspeed|bitsandbytes|zero", r"trainer|deepspeed|accelerat|engine|fsdp"
STRONG = ("evaluation", "generation", "saving")  # these phases contain forwards of their own
SMALLER = "use a smaller micro batch with more accumulation steps, gradient checkpointing or shorter rows"
SIGINT, SIGKILL, SIGTERM = 2, 9, 15  # the second is what a launcher sends to the others after one has failed
OF_SHELL, OF_LAUNCHER = 128, 256
CRASHES = (4, 6, 7, 8, 9, 11, 15)  # signals whose negative number no program takes for a status of its own
STATED = re.compile(r"(?:[^.;!?]|[.;!?](?!\s|$))+[.!?]?")  # a sentence of a message; names and files have points, too
BATCH = re.compile(r"gradient_acc_step \* world_size:?\s*(\d+) != (\d+) \* (\d+) \* (\d+)")
FEW_LINES = 12
# The messages of the classes that have no others.
MESSAGES = {"KeyError": re.compile(r"^(['\"]).*\1$"), "NameError": re.compile(r"name '\w+' is not defined")}
SIGN_OF_ERROR = re.compile(
    r"^(?!.*(?:warn|\binfo|\[[WI]\b)).*\b(?:error|failed|failure|fatal|exception|refused|cannot|unable)\b", re.IGNORECASE
)
HEADLINE = re.compile(r"[^:]*\b(?:[Ee]rror|ERROR|[Ff]ailed|[Ee]xception)\b[^:]*: ")
INSIDE_LINE = re.compile(r"\b((?:\w+\.)*[A-Z]\w*(?:Error|Exception)): (.+)")
LAUNCHER_FAILED = re.compile(r"\S+ FAILED$")  # the head of torch's summary of dead processes
QUOTED = "because of the following error (look up to see its traceback):"
OF_PACKAGES = ("packages whose", "a method that the program overrides")  # causes that other releases of packages cure
PARSER_EXIT = "SystemExit"  # how argparse ends a program
UNEXPLAINED = "the log does not show why"
# The classes of exceptions whose messages are copied without them, the most specific messages first.
CLASSES = (
    "NameError",
    "ValueError",
    "TypeError",
    "RuntimeError",
    "AttributeError",
    "KeyError",
    "ImportError",
    "AssertionError",
    "IndexError",
    "NotImplementedError",
)
NOT_PREDICTED = "it is not like the exceptions that cfglint's rules predict; `cfglint check` of the run's files may find its cause"
CUT, UNCUT = "the traceback ends before its exception", "take the lines to the end: the last one names the exception and says why"
BF16 = "use `bf16: true` where the GPUs support it; else lower the learning rate, and look for values beyond 65504 in the model"
SOME = "fp16 skips steps without numbers and goes on; if they do not become rarer, use `bf16: true` or a lower learning rate"
OF_EVALUATION = (
    "look at the rows of the evaluation set: all labels of one are masked, as where the maximum length cuts the answer off; and evaluate"
    " in bf16 or fp32, as fp16 overflows (`fp16_full_eval`)"
)
INTERRUPTED = "KeyboardInterrupt"
HUNG = "look at what that rank did before (`py-spy dump`); if it was only slow, set `TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC` higher"
UNCONNECTED = (
    "the first operation of the run did not end: a rank never started, or NCCL cannot connect these GPUs; test with `NCCL_P2P_DISABLE=1`"
    " on one node, and with `NCCL_SOCKET_IFNAME` set to the network between the nodes (`NCCL_DEBUG=INFO` shows what it uses)"
)
EVEN = 2e-3  # around the loss of an even chance
ZEROS = 3  # last steps with a rate of 0: a schedule ends with one
LEAST = 1  # the loss scale that overflows with the values of the model alone
FEW = 10  # overflows at the start of fp16 training are normal: the loss scale begins high


class Failure(Record):
    """A failure that a log shows: its kind and line, one sentence about it, what else is known, what to do, and the rules that predict it.

    `causes` are those of an exception that many mistakes raise, the most frequent first. `gpu_memory` is what the GPU has in GiB, and
    `needed` what the process needed at least, if the log says it.
    """

    kind: str
    line: int
    summary: str
    details: list[str]
    remedy: str = ""
    exception: str = ""
    rules: list[str] = []
    rank: int | None = None
    phase: str = ""
    gpu_memory: float | None = None
    needed: float | None = None
    causes: list[str] = []


def failures_in(lines: Iterable[str], kind: str = "") -> list[Failure]:
    return of_events(failure_parser.read(lines), kind)


def of_events(events: Events, kind: str = "") -> list[Failure]:
    """The failures of a log of a run of this `kind`, if that is known: what ended the run, then what was wrong with its numbers."""
    found = [failure for failure in (cause(events, kind), numbers(events) or zeros(events)) if failure is not None]
    return found or at_end(*events.last)


def at_end(line: int, text: str) -> list[Failure]:
    """What a run waits for whose log ends with such a line, as those of runs that hang do."""
    known = next((each for each in facts()["last"] if re.search(each["match"], text)), None)
    if known is None:
        return []
    return [Failure(NOTICE, line, f"the log ends while {known['says']}", [], f"if it hangs there, {known['help']}")]


def in_fragment(lines: Iterable[str]) -> list[Failure]:
    """What a few lines say, as people copy the message of an exception without its class."""
    sentences = ((number, failure_parser.rank_of(text)[1].strip()) for number, text in pieces(lines) if SENTENCE.search(text))
    texts = [*islice(sentences, FEW_LINES + 1)]
    texts = [each for each in texts if not each[1].endswith(QUOTED)] or texts
    errors = [(number, text) for number, text in texts if not known_warning(text)] if len(texts) <= FEW_LINES else []
    for number, text in errors:
        inside = INSIDE_LINE.search(text)
        if inside:
            raised = Raised(number, None, inside.group(1), inside.group(2), [])
            return [of_exception(raised, follows=True) if FOLLOWING.search(raised.text) else of_raised(raised)]
        behind = text.partition(": ")[2] if HEADLINE.match(text) else ""
        said_as = [
            (name, each) for each in filter(None, (text, behind)) for name in CLASSES if name not in MESSAGES or MESSAGES[name].match(each)
        ]
        for name, said in (*said_as, (PARSER_EXIT, f"2 (error: {text})")):
            raised = Raised(number, None, name, said, [])
            failure = of_exception(raised, is_message=True)
            if failure.rules or failure.remedy or failure.causes:
                failure.summary = f"as the message of an exception: {shortened(text)}"
                return [failure]
    unknown = next(((number, text) for number, text in errors if SIGN_OF_ERROR.search(text)), None)
    return [Failure(EXCEPTION, unknown[0], f"as the message of an exception: {shortened(unknown[1])}", [NOT_PREDICTED])] if unknown else []


def is_unexplained(found: Failure) -> bool:
    """Whether a failure says no more than that something ended."""
    return UNEXPLAINED in found.summary or found.summary == CUT


def beside(found: list[Failure], fragment: list[Failure]) -> list[Failure]:
    """What the words of a few lines say where the end of a process does not explain itself; of unknown words, both are told."""
    if not found or found[0].kind == NOTICE or not fragment:
        return fragment
    first, said = found[0], fragment[0]
    if said.line == first.line or LAUNCHER_FAILED.search(said.summary) or (first.summary == CUT and said.line > first.line):
        return found
    if said.rules or said.remedy or said.causes:
        return fragment
    first.summary = first.summary.removesuffix(f"; {UNEXPLAINED}")
    first.details.append(f"line {said.line} says why, perhaps: {said.summary.partition(': ')[2]}")
    return found


def notices(lines: Iterable[str]) -> list[Failure]:
    """The warnings of a few lines that end nothing, each at its first line."""
    warnings: dict[str, Failure] = {}
    found = (each for block in blocks(lines) if block.words(words_of_warnings()) for each in block.lines)
    for number, text in found:
        warning, meaning = known_warning(text) or ("", "")
        if warning and meaning not in warnings:
            warnings[meaning] = Failure(NOTICE, number, f"a warning, which ends nothing: {shortened(warning)}", [meaning])
    return [*warnings.values()]


def cause(events: Events, kind: str = "") -> Failure | None:
    """What ended the run: the first exception that does not follow from another, else a dead process, else a time-out."""
    raised = first_raised(events)
    if events.split_at is not None and (raised is None or re.search("argument|[Pp]lease input", raised.text)):
        line, argument = events.split_at
        summary = (
            f"the shell took `{argument}` for a command: the command before it ends in the line above, without this and later arguments"
        )
        remedy = "end that line with a backslash and nothing behind it, not even a blank"
        return Failure(REFUSED, line, summary, [], remedy, rules=[SPLIT_RULE])
    ends = [*events.dead, *(Dead(line, None, exit_named(name)) for line, name in events.killed)]
    decided = next((dead for dead in ends if (how := exit_of(dead)) is not None and not how.get("follows")), None)
    if decided is not None and (raised is None or is_before(decided, raised, events)):
        return with_consequences(of_exit(decided), events)
    if raised is not None:
        return with_consequences(of_raised(raised, kind), events)
    if events.timeouts:
        return of_timeouts(events)
    if events.stuck is not None:
        line, seconds = events.stuck
        summary = f"the watchdog of NCCL made no progress for {seconds:,} seconds: a process hung in a call of CUDA or NCCL"
        return Failure(TIMEOUT, line, summary, [], HUNG)
    if any(raised.name == INTERRUPTED for raised in events.raised) and all(raised.name == INTERRUPTED for raised in events.raised):
        return of_exit(Dead(events.raised[0].line, events.raised[0].rank, -SIGINT))
    if events.refused:
        unknown: ConfigTable = {"says": "reports an error"}
        answers = [(line, text, known_refusal(text) or unknown) for line, text in events.refused]
        line, text, answer = next((each for each in answers if each[2] is not unknown), answers[0])
        return Failure(REFUSED, line, f"Slurm {answer.get('says', 'refused the job')}: {text}", [], answer.get("help", ""))
    if events.pending is not None:
        line, text = events.pending
        why = next((each for each in facts()["pending"] if re.search(each["match"], text)), None)
        return Failure(REFUSED, line, f"the job waits ({text}): {why['says']}", [], why["help"]) if why is not None else None
    if events.cancelled is not None and not follows_from(events.cancelled, events.dead):
        return of_slurm(*events.cancelled)
    if ends and (any(dead.code < 0 for dead in ends) or all(SUMMARY.search(raised.name) for raised in events.raised)):
        return of_exit(min(ends, key=lambda dead: dead.code == -SIGTERM))
    following = [each for each in events.raised if not LEAST_SCALE.search(each.text)]
    if following:
        explained = next((raised for raised in following if (known := known_of(raised)) is not None and known.remedy), None)
        return with_warning(of_exception(explained or following[0], kind, follows=explained is None), events)
    if events.cut is not None and events.asserted is not None:
        return of_exception(Raised(events.asserted[0], None, "Assertion", events.asserted[1], []))
    if events.cut is None:
        return None
    line, frames = events.cut
    return Failure(EXCEPTION, line, CUT, [f"it ends {place_of(frames[-1])}"] if frames else [], UNCUT)


def known_refusal(text: str) -> ConfigTable | None:
    """What is known of a line in which Slurm refuses a job."""
    return next((each for each in facts()["submission"] if re.search(each["match"], text, re.IGNORECASE)), None)


def is_before(dead: Dead, raised: Raised, events: Events) -> bool:
    """Whether a process was dead before an exception was raised, which then follows from it, and that exception does not say so itself."""
    last_step = events.steps[-1] if events.steps else 0
    return last_step < dead.line < min(each.line for each in handled_by(raised))


def of_raised(raised: Raised, kind: str = "") -> Failure:
    """An exception that ended a run, as a memory error if it is one, or was raised while one was handled."""
    memory = next((exception for exception in handled_by(raised) if MEMORY.search(exception.text)), None)
    return of_memory(memory) if memory is not None else of_exception(raised, kind)


def follows_from(cancelled: tuple[int, str], dead: Iterable[Dead]) -> bool:
    """Whether `srun` ended the other tasks of a step, because one had ended before with an error."""
    line, reason = cancelled
    return not reason and any(each.line < line for each in dead)


def of_slurm(line: int, reason: str) -> Failure:
    """A job that Slurm cancelled, which a person may have asked for."""
    remedy = next((each["help"] for each in facts()["cancelled"] if each["match"] in reason), "")
    summary = f"Slurm cancelled the job: {reason}" if reason else "Slurm cancelled the job; without a reason it is `scancel`"
    return Failure(KILLED, line, summary, [], remedy)


def exit_named(name: str) -> int:
    """The status of a process of which the system or a shell says how it ended: it is killed if no other signal is named."""
    return next((-each["signal"] for each in facts()["exit"] if each.get("shell", "?") in name.lower()), -SIGKILL)


def exit_of(dead: Dead) -> ConfigTable | None:
    """What is known of the status of a process: a shell adds 128 to a signal, a launcher that exits with its process's -9 has 247."""
    signal = -dead.code if dead.code < 0 else dead.code - OF_SHELL
    signal = OF_LAUNCHER - dead.code if OF_LAUNCHER - dead.code in CRASHES else signal
    key, number = ("signal", signal) if signal > 0 else ("status", dead.code)
    return next((each for each in facts()["exit"] if each.get(key) == number), None)


def of_exit(dead: Dead) -> Failure:
    """A process that ended with an error, of which the log shows no more than its status."""
    known, who = exit_of(dead), dead.task or process(dead.rank)
    if known is not None:
        return Failure(KILLED, dead.line, f"{who} {known['says']}", [], known["help"], rank=dead.rank)
    how = f"ended with exit status {dead.code}"
    if dead.code < 0:
        from signal import Signals

        number = -dead.code
        how = f"was ended by the signal {Signals(number).name if number in [*Signals] else f'number {number}'}"
    remedy = "look for its exception in the output before, or in the logs of the other ranks (`torchrun --tee 3`, `--log_dir`)"
    return Failure(KILLED, dead.line, f"{who} {how}; {UNEXPLAINED}", [], remedy, rank=dead.rank)


def first_raised(events: Events) -> Raised | None:
    """The first exception that ended the run: not one of a launcher or of the communication, and none after which steps were logged."""
    own = [each for each in events.raised if not FOLLOWING.search(each.text) and not LEAST_SCALE.search(each.text)]
    handled = [each.after for each in own]
    own = [each for each in own if not any(each is other for other in handled)]
    own = [each for each in own if not WRAPPING.search(each.text)] or own
    last_step = events.steps[-1] if events.steps else 0
    return next((each for each in own if each.line > last_step), own[-1] if own else None)


def process(rank: int | None) -> str:
    return f"rank {rank}" if rank is not None else "a process"


def size_in(pattern: re.Pattern[str], text: str) -> float | None:
    """The bytes that a message states; None if it does not."""
    match = pattern.search(text)
    if match is None:
        return None
    number, unit = (part for part in match.groups() if part is not None)
    return float(number) * UNITS[unit if unit == "bytes" else unit[0]]


def gib(size: float) -> str:
    """Bytes in GiB, small ones in MiB."""
    return f"{size / GIB:.2f} GiB" if size >= GIB else f"{size / (1 << 20):.0f} MiB"


def of_memory(raised: Raised) -> Failure:
    """A GPU that ran out of memory: the phase, and the numbers of the message."""
    text = raised.text
    phase = phase_of(raised) if failure_parser.VLLM_MEMORY not in text else "generation"
    tried, capacity, free = size_in(TRIED, text), size_in(CAPACITY, text), size_in(FREE, text)
    allocated, unused = size_in(ALLOCATED, text), size_in(UNUSED, text)
    details = []
    if tried is not None:
        of_card = f" of {gib(capacity)}" if capacity is not None else ""
        details.append(f"tried to allocate {gib(tried)}" + (f"; {gib(free)}{of_card} were free" if free is not None else ""))
    if allocated is not None:
        details.append(f"PyTorch had allocated {gib(allocated)}" + (f" and reserved {gib(unused)} more" if unused is not None else ""))
    remedies = [known["help"] for known in facts()["phase"] if known["name"] == phase]
    if unused is not None and unused >= FRAGMENTED and unused >= (tried or 0):
        remedies.append("set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`: more was reserved and unused than was asked for")
    remedies = remedies or [SMALLER]
    others = [float(number) * UNITS[unit[0]] for number, unit in OTHERS.findall(text)]
    if len(others) > 1 and min(others) >= GIB:
        details.append("several processes were using this GPU")
    where = f" {'while' if phase.partition(' ')[0].endswith('ing') else 'in'} {article(phase)}" if phase else ""
    summary = f"a GPU ran out of memory{where}" if raised.rank is None else f"the GPU of rank {raised.rank} ran out of memory{where}"
    card = round(capacity / GIB, 2) if capacity is not None else None
    needed = (allocated + tried) / GIB if allocated is not None and tried is not None else None
    failure = Failure(OUT_OF_MEMORY, raised.line, summary, details, "; ".join(remedies), shortened(text), rank=raised.rank, phase=phase)
    failure.gpu_memory, failure.needed = card, needed
    return failure


def article(phase: str) -> str:
    if phase in ("forward", "backward"):
        return f"the {phase} pass"
    return f"the {phase}" if phase in ("loss", "optimizer step") else phase


def phase_of(raised: Raised) -> str:
    """The phase of a step in which an exception was raised, by the functions of its traceback; empty if they do not tell.

    `step` counts for optimizers only, and `__init__` for trainers and engines.
    """
    phase_of_function = {function: phase["name"] for phase in facts()["phase"] for function in phase["functions"]}
    phases = []
    for frame in reversed(raised.frames):
        phase = phase_of_function.get(frame.function, "")
        files = OF_STEP if frame.function == "step" else OF_SETUP if frame.function in ("__init__", "prepare", "initialize") else ""
        if phase and re.search(files, frame.file):
            phases.append(phase)
    return next((phase for phase in phases if phase in STRONG), phases[0] if phases else "")


def of_exception(raised: Raised, kind: str = "", *, follows: bool = False, is_message: bool = False) -> Failure:
    """An exception, the rules that predict it, and where it was raised; of a message without its class, only what is known of such ones."""
    raised = as_one_line(raised, kind)
    rules = predicting(raised, kind)
    refused, became = unknown_keyword.about((quoted_in(raised) or raised).text)
    rules = rules if refused is None else refused
    known = known_of(raised)
    if not became and not (known is not None and known.remedy):
        became = released.about(raised.text)
    causes = [*known.causes] if known is not None and not rules and not follows and not became else []
    details = []
    if raised.frames:
        last = raised.frames[-1]
        condition = f": `{raised.condition}`" if raised.condition else ""
        details.append(f"raised {place_of(last)}{condition}")
        stack_frame = next(
            (frame for frame in reversed(raised.frames) if "site-packages" not in frame.file and "dist-packages" not in frame.file), None
        )
        if stack_frame is not None and stack_frame is not last:
            details.append(f"called from {stack_frame.file}:{stack_frame.line}")
    elif raised.condition:
        details.append(f"what does not hold: `{raised.condition}`")
    if raised.after is not None:
        details.append(f"it was raised while this was handled: {shortened(raised.after.text)}")
    remedy = ""
    if follows:
        details.append("this follows from the failure of another process, which the log does not show: look at the logs of the other ranks")
    else:
        remedy = became or of_batch(raised.text) or (known.remedy if known is not None and (known.after_rules or not rules) else "")
        tells = not is_message or (raised.name != PARSER_EXIT and SIGN_OF_ERROR.search(raised.message) is not None)
        said, asks = said_in(raised.text) if tells and not (rules or remedy or causes) else ("", False)
        remedy = remedy or (said if asks else "") or (released.to_install(raised) if causes and causes[0].startswith(OF_PACKAGES) else "")
        if not (rules or remedy or causes):
            details.append(said or released.by_its_place(raised) or NOT_PREDICTED)
    who = f"rank {raised.rank} raised" if raised.rank is not None else "the run ended with"
    return Failure(
        EXCEPTION,
        raised.line,
        f"{who} {shortened(raised.text)}",
        details,
        remedy,
        shortened(raised.text),
        rules,
        raised.rank,
        causes=causes,
    )


def place_of(frame: StackFrame) -> str:
    return f"in `{frame.function}` ({frame.file}:{frame.line})" if frame.function else f"at {frame.file}:{frame.line}"


def as_one_line(raised: Raised, kind: str) -> Raised:
    """The exception, with its message as one line that a terminal has cut within words if only of that something is known."""
    if not raised.unwrapped or predicting(raised, kind) or known_of(raised) is not None:
        return raised
    whole = Raised(raised.line, raised.rank, raised.name, raised.unwrapped, raised.frames, raised.after, raised.condition, code=raised.code)
    return whole if predicting(whole, kind) or known_of(whole) is not None else raised


def handled_by(raised: Raised) -> Iterator[Raised]:
    """An exception, and those that were being handled when it was raised."""
    found: Raised | None = raised
    while found is not None:
        yield found
        found = found.after


def quoted_in(raised: Raised) -> Raised | None:
    """The exception that one of transformers' lazy imports quotes without its class, if something is known of it."""
    quoted = raised.text.partition(QUOTED)[2].strip()
    possible = (Raised(raised.line, raised.rank, name, quoted, []) for name in CLASSES if quoted and name not in MESSAGES)
    return next((each for each in possible if rules_of_raised(each, "") or known_exception(each.text) is not None), None)


def predicting(raised: Raised, kind: str = "") -> list[str]:
    """The rules that predict an exception, else those that predict one that was being handled."""
    rules = (rules_of_raised(each, kind) for each in (*handled_by(raised), *filter(None, [quoted_in(raised)])))
    return next(filter(None, rules), [])


def rules_of_raised(raised: Raised, kind: str) -> list[str]:
    """The rules that predict an exception; of one that many mistakes raise, those about the code of its traceback, or of the kind."""
    paths = [frame.file for frame in raised.frames]
    rules = rules_of(raised.text, paths)
    known = known_exception(raised.text)
    doubtful = []
    if known is not None:
        doubtful = rules if known.is_general else of_one_framework(rules)
    return [code for code in rules if code not in doubtful or is_about(code, paths, kind)]


def known_of(raised: Raised) -> KnownException | None:
    """What is known of an exception that no file of a run decides, or that rules of several frameworks predict.

    One that was being handled tells more than the one that was raised in its place, if only of that a remedy is known.
    """
    quoted = quoted_in(raised)
    if quoted is not None and (known := known_exception(quoted.text)) is not None:
        return known
    all_of_it = [raised, *(each for each in handled_by(raised) if each is not raised and not FOLLOWING.search(each.text))]
    texts = ((f"{each.text}: {each.condition}" if each.condition else each.text, each.file, each.code) for each in all_of_it)
    found = [known for known in starmap(known_exception, texts) if known is not None]
    return next((known for known in found if known.remedy), found[0] if found else None)


def said_in(text: str) -> tuple[str, bool]:
    """What a sentence of the message of an exception says itself, with words on what follows from it, and whether that is what to do."""
    name, _, message = text.partition(": ")
    sentences = [each.strip() for each in STATED.findall(message)]
    for entry in facts()["sentence"] if message else ():
        for sentence in sentences if not re.search(entry.get("unless", "^$"), f"{name}: {message}") else ():
            if match := re.search(entry["match"], sentence):
                return f"{entry['says']}: {shortened(match.group(1) if match.lastindex else sentence)}", entry.get("asks", False)
    return "", False


def of_batch(text: str) -> str:
    """What the numbers of DeepSpeed's check of the batch sizes say about the processes; empty for any other exception."""
    match = BATCH.search(text)
    if match is None:
        return ""
    total, micro, accumulation, ranks = map(int, match.groups())
    fits = f'set `train_batch_size` to {micro * accumulation * ranks} or "auto"'
    meant, rest = divmod(total, max(micro * accumulation, 1))
    if rest or not meant:
        return fits
    which = "one process" if ranks == 1 else counted(ranks, "process")
    return (
        f"{total} / ({micro} x {accumulation}) are {meant} data-parallel processes, and DeepSpeed counts {which}: start {meant}, or {fits}"
    )


def shortened(text: str) -> str:
    """An exception without the rest of a very long message."""
    text = " ".join(text.split())
    return text if len(text) <= 400 else f"{text[:400]} ..."


def with_warning(found: Failure, events: Events) -> Failure:
    """An error of NCCL with the warning of NCCL itself, which names the call that failed."""
    if events.warned is not None and "NCCL" in found.exception:
        line, text = events.warned
        known = known_exception(text)
        found.details.append(f"NCCL itself said (line {line}): {shortened(text)}")
        found.remedy = known.remedy if known is not None and known.remedy else found.remedy
    return found


def with_consequences(found: Failure, events: Events) -> Failure:
    """The failure with what followed from it: time-outs of other ranks."""
    later = [timeout for timeout in events.timeouts if timeout.rank != found.rank]
    if later:
        ranks = sorted({timeout.rank for timeout in later if timeout.rank is not None})
        of_ranks = f" of rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}" if ranks else ""
        found.details.append(f"the NCCL time-out{of_ranks} (line {later[0].line}) follows from it")
    return found


def of_timeouts(events: Events) -> Failure:
    """Time-outs of collective operations without the exception of a rank."""
    first = events.timeouts[0]
    waiting = sorted({timeout.rank for timeout in events.timeouts if timeout.rank is not None})
    kinds = {(timeout.number, timeout.operation) for timeout in events.timeouts}
    which = f"rank{'s' if len(waiting) > 1 else ''} {', '.join(map(str, waiting))}" if waiting else "the ranks"
    details = [
        f"{which} gave up after {first.seconds:,} seconds in {first.operation}" + (f" number {first.number}" if first.number else "")
    ]
    if len(kinds) > 1:
        details.append(
            "the ranks waited in different operations: they took different ways through the code or have different numbers of batches"
        )
    remedy = (
        "find the rank that did not take part: its own log has the first error. If it was only slow (saving, evaluation, tokenization),"
        f" set `ddp_timeout` above {first.seconds}"
    )
    remedy = UNCONNECTED if kinds == {(1, first.operation)} else remedy
    return Failure(TIMEOUT, first.line, f"a collective operation timed out: {process(first.rank)} waited for another rank", details, remedy)


def zeros(events: Events) -> Failure | None:
    """A learning rate or a loss that is 0 for all of the log, or for its last steps, and other numbers that mean that nothing is learnt."""
    rates, losses = events.rates, events.losses
    end = next((index for index, (_, rate) in enumerate(reversed(rates)) if rate), len(rates))
    if end >= ZEROS and end < len(rates):
        line = rates[-end][0]
        remedy = (
            "compare the steps of the schedule with those of the training: `total_num_steps` of a DeepSpeed scheduler, `num_training_steps`"
            " of one's own, a resumed schedule, or a learning rate that is printed with too few digits"
        )
        return Failure(ZERO, line, f"the learning rate is 0 in the last {end} logged steps, which train nothing", [], remedy)
    if len(rates) >= 2 and end == len(rates):
        remedy = (
            "set `learning_rate`; a warm-up that is longer than the log begins at 0, and skipped steps (fp16 overflows) do not advance"
            " the schedule"
        )
        return Failure(ZERO, rates[0][0], f"the learning rate is 0 in all {end} logged steps", [], remedy)
    if len(events.spreads) >= ZEROS and not any(spread for _, spread in events.spreads):
        remedy = (
            "look at some completions and their rewards: the reward function gives the same to each (a format that none or all of them"
            " meet), the samples are alike (temperature), or all are cut (`max_completion_length`)"
        )
        summary = f"all completions of a group have the same reward in all {len(events.spreads)} logged steps, which trains nothing"
        return Failure(ZERO, events.spreads[0][0], summary, [], remedy)
    if len(losses) >= ZEROS and all(abs(loss - math.log(2)) < EVEN for _, loss in losses):
        remedy = (
            "look at what is trained: a preference loss begins at ln 2, where model and reference are equal, and stays there with a"
            " learning rate of 0, with adapters that get no gradient, or with pairs whose two answers are alike"
        )
        return Failure(ZERO, losses[0][0], f"the loss is 0.693, that of an even chance, in all {len(losses)} logged steps", [], remedy)
    if len(events.norms) >= ZEROS and not any(norm for _, norm in events.norms) and any(loss for _, loss in losses):
        remedy = (
            "look at which parameters are trained: none gets a gradient, as with frozen weights, adapters under reentrant gradient"
            " checkpointing (`use_reentrant: false`), or a norm that is printed with too few digits"
        )
        return Failure(ZERO, events.norms[0][0], f"the gradient norm is 0 in all {len(events.norms)} logged steps", [], remedy)
    if events.untrained and not events.steps:
        remedy = (
            "look at where it began: a checkpoint that had all of its steps already (`resume_from_checkpoint`; raise `num_train_epochs` or"
            " `max_steps`), or data without a batch"
        )
        return Failure(ZERO, events.ended, "the training came to its end without a step", [], remedy)
    if len(losses) >= 2 and not any(loss for _, loss in losses):
        remedy = (
            "look at the labels of a batch: all of them are masked (-100) where a response template or chat template does not fit, or where"
            " the prompt fills the maximum length; in fp16, a forward that overflows gives 0 too"
        )
        return Failure(ZERO, losses[0][0], f"the loss is 0 in all {len(losses)} logged steps", [], remedy)
    return None


def numbers(events: Events) -> Failure | None:
    """Losses that are not numbers, and fp16 overflows that go on."""
    exited = next((each for each in events.raised if LEAST_SCALE.search(each.text)), None)
    scales = events.scales
    fell = f"; the loss scale fell to {scales[-1]:g}" if scales else ""
    if events.not_numbers and len(events.evaluated) == len(events.not_numbers):
        return Failure(NOT_A_NUMBER, events.evaluated[0], "the loss of an evaluation is not a number", [], OF_EVALUATION)
    if events.not_numbers:
        count = len(events.not_numbers)
        overflowed = f"; {counted(len(events.overflows), 'overflow')} of fp16 before and after{fell}" if events.overflows else ""
        good = sum(step < events.not_numbers[0] for step in events.steps)
        recovered = sum(step > events.not_numbers[-1] for step in events.steps)
        between = len(events.steps) - good - recovered
        after = f"after {counted(good, 'logged step')} with numbers" if good else f"in {'the first' if recovered else 'each'} logged step"
        after = f"in {count} of {count + len(events.steps)} logged steps" if between else after
        remedy = (
            "train in bf16 instead of fp16, lower the learning rate or warm up longer, and check the rows whose labels are all masked;"
            " a loss of 0.0 with a gradient norm of nan means that the forward itself gives nan"
        )
        remedy = SOME if between else remedy
        return Failure(
            NOT_A_NUMBER,
            events.not_numbers[0],
            f"loss or gradient norm is not a number {after}",
            [f"in {counted(count, 'line')}{overflowed}" + (f"; {counted(recovered, 'later step')} had numbers" if recovered else "")],
            "one step without numbers is skipped in fp16, and the training goes on" if recovered and count == 1 else remedy,
        )
    last, steps, skipped = events.skipped
    if exited is None and steps >= FEW and skipped > steps / 2:
        return Failure(OVERFLOW, last, f"{skipped:,} of {steps:,} steps were skipped for fp16 overflows{fell}", [], BF16)
    if exited is None and not events.overflows:
        return None
    count = len(events.overflows)
    were_skipped = f"{counted(count, 'step')} {'was' if count == 1 else 'were'} skipped"
    if exited is not None:
        details = [f"{were_skipped} before{fell}"] if count else []
        summary = "every step overflowed in fp16 until the loss scale was at its minimum, which ended the run"
        return Failure(OVERFLOW, exited.line, summary, details, BF16, shortened(exited.text), rank=exited.rank)
    if count < FEW and not (scales and scales[-1] <= LEAST):
        summary = f"{were_skipped} for fp16 overflows, which is normal while the loss scale is found"
        return Failure(OVERFLOW, events.overflows[0], summary, [])
    return Failure(OVERFLOW, events.overflows[0], f"{were_skipped} for fp16 overflows{fell}", [], BF16)
