"""Commands that start another command: srun, uv run, env, nohup, numactl, mpirun, apptainer exec, ..."""

from __future__ import annotations

from cfglint.source.record import Record
from cfglint.source.shell.placed_text import AnyNumber, MayBeNoWord, Text, TextPart, after_mark, joined, literal, split, unknown
from cfglint.source.shell.reasons import FROM_INPUT
from cfglint.source.shell.tables import names

# Options of srun that take a value in a word of their own (srun(1), 22.05).
SRUN = names(
    "--accel-bind --account --acctg-freq --bb --bbf --bcast-exclude --begin --chdir --cluster-constraint --clusters "
    "--comment --constraint --container --core-spec --cores-per-socket --cpu-bind --cpu-freq --cpus-per-gpu "
    "--cpus-per-task --deadline --delay-boot --dependency --distribution --epilog --error --exclude --export "
    "--extra-node-info --gid --gpu-bind --gpu-freq --gpus --gpus-per-node --gpus-per-socket --gpus-per-task --gres --gres-flags "
    "--het-group --hint --input --job-name --jobid --licenses --mail-type --mail-user --mcs-label --mem --mem-bind "
    "--mem-per-cpu --mem-per-gpu --mincpus --mpi --msg-timeout --network --nodefile --nodelist --nodes --ntasks "
    "--ntasks-per-core --ntasks-per-gpu --ntasks-per-node --ntasks-per-socket --tasks-per-node --open-mode --output --partition "
    "--power --prefer --priority --profile --prolog --qos --relative --reservation --signal --slurmd-debug "
    "--sockets-per-node --switches --task-epilog --task-prolog --thread-spec --threads --threads-per-core --time "
    "--time-min --tmp --uid --wait --wckey --container-image --container-name --container-mounts "
    "--container-workdir --container-env --container-save -A -B -C -D -F -G -J -L -M -N -S -T -W -b -c -d -e -i -m -n -o -p -q "
    "-r -t -w -x"
)
MPIRUN = names(
    "-np -n --np -c -x -H --host -host --hostfile -hostfile -machinefile --map-by -map-by --bind-to -bind-to -N "
    "--npernode -npernode -ppn --ppn -wdir --wdir --rank-by -rank-by --report-bindings-to"
)
# apptainer(1) 1.3 exec, run; Singularity has the same. Both pass the environment on and go on in the same folder.
APPTAINER = names(
    "-B --bind --mount --env --env-file -H --home --pwd --cwd -W --workdir -o --overlay --network --network-args --dns --hostname "
    "--app --cpus --memory --security --add-caps --drop-caps --fusemount --pem-path --scratch -S"
)
# docker-run(1), docker-exec(1) 27; podman has the same.
DOCKER = names(
    "-v --volume -e --env --env-file -w --workdir --name --gpus --shm-size --ipc --network --net -p --publish -u --user --ulimit --runtime "
    "--device -m --memory --cpus --cpuset-cpus -h --hostname -l --label --mount --pid --restart --cap-add --security-opt --add-host "
    "--platform --pull --log-driver --log-opt --tmpfs --dns --group-add --userns --cgroupns --annotation --cidfile"
)
# ssh(1) 9.6, pdsh(1) 2.34, clush(1) 1.9: a shell of another machine runs their words, joined, without the environment of the caller.
REMOTE = {
    "ssh": names("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"),
    "pdsh": names("-w -x -g -X -f -t -u -l -R -P -c -n"),
    "clush": names("-w -x -g -X -f -t -u -l -m -o -O --hostfile"),
}
# bsub(1) of LSF 10.1, which hands its words, joined, or its input to a shell with the caller's environment.
BSUB = names(
    "-a -app -b -C -c -cwd -D -data -E -Ep -e -env -eo -eptl -ext -F -f -freq -G -g -gpu -i -is -J -Jd -jsdl -k -L -Lp -M -m -mig -n "
    "-network -o -oo -outdir -P -p -pack -PE -q -R -rcacct -S -s -sla -sp -T -t -U -u -v -W -We -w -wt -wa"
)
STRINGS = {**REMOTE, "bsub": BSUB}
XARGS = names(
    "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-chars --max-lines --max-procs --process-slot-var"
)  # xargs(1) 4.9
VALUED = {
    "srun": SRUN,
    "salloc": SRUN,
    "docker": DOCKER,
    "podman": DOCKER,
    "screen": frozenset(("-S", "-dmS", "-L", "-Logfile", "-t", "-c")),
    "mpirun": MPIRUN,
    "mpiexec": MPIRUN,
    "apptainer": APPTAINER,
    "singularity": APPTAINER,
    "uv": frozenset(("--with", "--extra", "--group", "--python", "-p", "--project", "--directory", "--env-file", "--package", "--index")),
    "poetry": frozenset(("-C", "--directory", "-P", "--project")),
    "pixi": frozenset(("-e", "--environment", "--manifest-path")),
    "conda": frozenset(("-n", "--name", "-p", "--prefix")),
    "mamba": frozenset(("-n", "--name", "-p", "--prefix")),
    "micromamba": frozenset(("-n", "--name", "-p", "--prefix")),
    "numactl": frozenset(("-c", "-m", "-N", "-C")),
    "taskset": frozenset(("-c",)),
    "ionice": frozenset(("-c", "-n")),
    "nice": frozenset(("-n",)),
    "stdbuf": frozenset(("-i", "-o", "-e")),
    "timeout": frozenset(("-s", "-k", "--signal", "--kill-after")),
    "sudo": frozenset(("-u", "-g")),
    "nsys": frozenset(("-o", "-t", "--output", "--trace", "-w", "--capture-range", "--force-overwrite", "-f", "-x")),
}
RUNNERS = ("uv", "poetry", "pipenv", "pixi", "conda", "mamba", "micromamba", "pdm", "rye", "hatch")
SIMPLE = ("nohup", "time", "exec", "command", "setsid", "builtin", "unbuffer", "caffeinate")
PROFILERS = ("nsys", "ncu")
CONTAINERS = ("apptainer", "singularity", "docker", "podman")
DASHED = {"ray": ["job", "submit"], "kubectl": ["exec"]}  # `ray job submit [options] -- command`
APART = ("docker", "podman", "kubectl", *REMOTE)  # what they start does not get the environment of the caller
WRAPPERS = frozenset((*SIMPLE, "env", *RUNNERS, *PROFILERS, *DASHED, "mpirun", "mpiexec", *VALUED))
SUBMIT = "sbatch"
WITH_VALUE = "AabCcDdeGiJLMmnNopqtwx"  # letters of sbatch's options that take a value (sbatch(1), 22.05)
WITHOUT_VALUE = names(
    "--contiguous --exclusive --get-user-env --hold --ignore-pbs --no-kill --no-requeue --overcommit --oversubscribe --parsable "
    "--propagate --quiet --reboot --requeue --spread-job --test-only --use-min-nodes --verbose --wait"
)
ENTER = ("Enter", "ENTER", "C-m", "C-M", "KPEnter")  # tmux(1) 3.4
OPENING = ("new-session", "new", "new-window", "neww", "split-window", "splitw")
TMUX = frozenset(("-t", "-N", "-s", "-n", "-c", "-e", "-x", "-y", "-F", "-l"))
SHELLS = ("bash", "sh", "zsh", "dash", "ksh")
SCRIPTS = (".sh", ".bash", ".zsh", ".ksh")
WRITTEN = (".sh", ".bash", ".slurm", ".sbatch", ".job")  # the ends of the names of scripts that are followed where another one writes them
MOST = 12
PYTHON = "python"


def command_name(text: Text) -> str:
    return text.string.rpartition("/")[2]


def is_python(name: str) -> bool:
    """Whether a command is an interpreter of Python: `python3.11`, not `python3python3` or `python-config`."""
    return name.startswith(PYTHON) and name[len(PYTHON) :].strip("0123456789.") in ("", "w", "t")


def unwrapped(words: list[Text]) -> tuple[list[Text], dict[str, Text], list[Text]]:
    """(wrappers with their options, environment that they set, the command inside); a variable in front that is not set is no word."""
    environment: dict[str, Text] = {}
    rest = words = words[next((at for at, word in enumerate(words) if [*map(type, word.parts)] != [MayBeNoWord]), 0) :]
    if not words or command_name(words[0]) not in WRAPPERS:
        return [], environment, words
    for _ in range(MOST):
        after = inside(rest, environment)
        if after is None or not after:
            break
        rest = after
    return words[: len(words) - len(rest)], environment, rest


def inside(words: list[Text], environment: dict[str, Text]) -> list[Text] | None:
    """The command that a wrapper starts; None where the first word is not a wrapper."""
    name = command_name(words[0])
    if name in SIMPLE:
        return after_options(words[1:], frozenset())
    if name == "env":
        return after_variables(words[1:], environment)
    if name in RUNNERS:
        at = next((index for index, word in enumerate(words[:4]) if word.string == "run"), None)
        return after_options(words[at + 1 :], VALUED.get(name, frozenset())) if at else None
    if name in PROFILERS:
        at = 2 if len(words) > 1 and words[1].string == "profile" else 1
        return after_options(words[at:], VALUED.get(name, frozenset()))
    if name in CONTAINERS:
        at = next((index for index, word in enumerate(words[:4]) if word.string in ("exec", "run")), None)
        if not at or any(word.string.startswith("--entrypoint") for word in words):
            return None
        rest = after_options(words[at + 1 :], VALUED[name])
        if name in APART:
            environment.clear()
            given = options_of(words[at + 1 : len(words) - len(rest)], ("-e", "--env"))
            environment.update((value.string.partition("=")[0], after_mark(value)) for value in given if "=" in value.string)
        return rest[1:]  # without the image
    if name in DASHED:
        marks = [index for index, word in enumerate(words) if word.string == "--"]
        named = [word.string for word in words[1 : marks[0]]] if marks else []
        if not (marks and all(action in named for action in DASHED[name])):
            return None
        return after_variables(words[marks[0] + 1 :], environment) if name == "ray" else words[marks[0] + 1 :]  # a shell runs ray's
    if name in ("mpirun", "mpiexec"):
        index = 1
        while index < len(words) and words[index].string.startswith("-"):
            text = words[index].string  # `-x NAME` and `--mca A B` have words of their own
            index += 3 if text in ("--mca", "-mca", "-genv", "--gmca") else 2 if text in MPIRUN else 1
        return words[index:]
    if name not in VALUED:
        return None
    rest = after_options(words[1:], VALUED[name])
    if name in ("taskset", "timeout") and rest and rest[0].string[:1].isdigit():
        rest = rest[1:]
    return rest


def after_variables(words: list[Text], environment: dict[str, Text]) -> list[Text]:
    """The command after the variables in front of it, which are added to the environment, and the options of `env`."""
    index = 0
    while index < len(words):
        text = words[index].string
        variable, mark, _ = text.partition("=")
        if text.startswith("-"):
            index += 2 if text in ("-u", "--unset", "-C", "--chdir") else 1
        elif mark and variable.replace("_", "a").isalnum():
            environment[variable] = after_mark(words[index])
            index += 1
        else:
            break
    return words[index:]


def options_of(words: list[Text], wanted: tuple[str, ...]) -> list[Text]:
    """The values of an option that may be given several times."""
    pairs = zip(words, [*words[1:], literal("")], strict=False)
    return [after_mark(word) if "=" in word.string else value for word, value in pairs if word.string.partition("=")[0] in wanted]


def after_options(words: list[Text], valued: frozenset[str]) -> list[Text]:
    index = 0
    while index < len(words):
        text = words[index].string
        if text == "--":
            return words[index + 1 :]
        if not text.startswith("-"):
            if not words[index].known and not any(part.text for part in words[index].parts) and index + 1 < len(words):
                index += 1
                continue
            break
        index += 2 if text in valued else 1
    return words[index:]


def passed_on(wrappers: list[Text], variables: dict[str, Text]) -> dict[str, Text]:
    """The variables of the caller that what wrappers start gets: none in a container."""
    return {} if any(command_name(word) in APART for word in wrappers) else variables


def keeps_environment(words: list[Text]) -> bool:
    """Whether what a command starts gets the environment of its caller, and nothing that is not read adds to it."""
    changing = (*RUNNERS, *APART, "ray", "env", "sudo")
    login = ("-l", "-lc", "-i", "-ic", "-li", "-lic", "--login", "--rcfile")
    return not any(command_name(word) in changing or word.string in login for word in words[:MOST])


def called_script(words: list[Text]) -> list[Text]:
    """The script that `bash x.sh a b` or `./x.sh a b` runs, with its arguments; none for other commands."""
    if not words or command_name(words[0]) not in SHELLS:
        name = words[0].string if words else ""
        return words if "/" in name and name.endswith(SCRIPTS) else []
    index = 1
    while index < len(words) and words[index].string.startswith(("-", "+")):
        if words[index].string == "-s" or (words[index].string[:2] != "--" and "c" in words[index].string):
            return []
        index += 2 if words[index].string in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
    return words[index:]


def script_of(words: list[Text], stdin: Text | None = None) -> Text | None:
    """The string that a shell runs as a script: that of `-c`, or its input if it is given no file; what tmux types in one."""
    name, action = (command_name(words[0]), words[1].string) if len(words) > 2 else ("", "")
    if name == "tmux" and (action in OPENING or (action in ("send-keys", "send") and words[-1].string in ENTER)):
        return joined(after_options(words[2:] if action in OPENING else words[2:-1], TMUX)) or None
    if not words:
        return None
    if (name := command_name(words[0])) in STRINGS:
        rest = words[1:]
        while rest and rest[0].string.startswith("-"):
            rest = rest[2 if rest[0].string in STRINGS[name] else 1 :]
        return joined(rest[1:] if name == "ssh" else rest) or stdin
    if stdin is not None and name == "qsub":
        return stdin
    if name not in SHELLS:
        return None
    for index, word in enumerate(words[1:], 1):
        text = word.string
        if not text.startswith("-"):
            return None
        if not text.startswith("--") and "c" in text:
            return words[index + 1] if index + 1 < len(words) else None
    return stdin


def with_input(words: list[Text], stdin: Text | None) -> list[list[Text]]:
    """The commands that `xargs` starts: their further words are those of its input, or each line of it fills a mark (`-I {}`)."""
    index, mark, most = 1, "", 0
    while index < len(words) and words[index].string.startswith("-"):
        option, value = words[index].string, words[index + 1].string if index + 1 < len(words) else ""
        if option[:2] == "-I":
            mark = option[2:] or value
        elif option[:2] == "-i" or option.startswith("--replace"):
            mark = option.partition("=")[2] or option[2:].removeprefix("replace") or "{}"
        elif option[:2] in ("-n", "-L") or option.startswith(("--max-args", "--max-lines")):
            count = option.partition("=")[2] or option[2:].lstrip("-") or value
            most = int(count) if count.isdigit() and option[:2] == "-n" else -1
        elif option[:2] in ("-d", "-0", "-a", "-E", "-l") or option.startswith(("--null", "--delim", "--arg")):
            stdin = None
        index += 2 if option in XARGS else 1
    command = words[index:]
    known = stdin is not None and stdin.known and not any(character in stdin.string for character in "\"'\\")
    if mark:
        lines = split(stdin, "\n")[0] if stdin is not None and known else [unknown(FROM_INPUT)]
        return [[filled(word, mark, line) for word in command] for line in lines]
    fields = split(stdin)[0] if stdin is not None and known and most >= 0 else [Text([AnyNumber(None, None, (FROM_INPUT,))])]
    if most <= 0 or not fields:  # of an empty input it starts one
        return [[*command, *fields]]
    return [[*command, *fields[start : start + most]] for start in range(0, len(fields), most)]


def filled(word: Text, mark: str, line: Text) -> Text:
    """A word with a line in the place of each mark."""
    parts: list[TextPart] = []
    for part in word.parts:
        at = 0
        while (found := (part.text or "").find(mark, at)) >= 0:
            parts += [part.cut(at, found), *line.parts]
            at = found + len(mark)
        parts.append(part if at == 0 else part.cut(at, len(part.text or "")))
    return Text(part for part in parts if part.text != "") if len(parts) > 1 else word


class Submission(Record):
    """A job that `sbatch` submits: its options, and the script with its arguments, or the string that is the script."""

    options: list[Text]
    called: list[Text]
    script: Text | None


def submitted(words: list[Text], stdin: Text | None) -> Submission | None:
    if not words or command_name(words[0]) != SUBMIT:
        return None
    place, wrapped = 1, None
    while place < len(words) and words[place].string.startswith("-"):
        name, given, _ = words[place].string.partition("=")
        takes_value = not given and name not in WITHOUT_VALUE and (name.startswith("--") or (len(name) == 2 and name[1] in WITH_VALUE))
        if name == "--wrap":
            wrapped = after_mark(words[place]) if given else words[place + 1] if place + 1 < len(words) else None
        place += 2 if takes_value else 1
    called = words[place:]
    return Submission(words[1:place], called, wrapped if wrapped is not None else stdin if not called else None)


def exported_to_job(options: list[Text], variables: dict[str, Text]) -> dict[str, Text]:
    """The variables of the caller, and the further ones, that a job starts with: all without `--export`."""
    found = dict(variables)
    for place, word in enumerate(options):
        name, given, _ = word.string.partition("=")
        if name != "--export":
            continue
        value = after_mark(word) if given else options[place + 1] if place + 1 < len(options) else word[:0]
        named = value.string.split(",")
        if named and "ALL" not in named:
            found = {each: variables[each] for each in named if each in variables}
        start = 0
        for each in named:
            variable, mark, _ = each.partition("=")
            if mark:
                found[variable] = value[start + len(variable) + 1 : start + len(each)] if value.known else unknown(*value.reasons)
            start += len(each) + 1
    return found
