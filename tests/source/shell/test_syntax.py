import shutil
import subprocess

import pytest

from cfglint.source.shell.syntax import fault_of

RUN = "torchrun train.py\n"
REFUSED = {
    f"for x in 1 2; do\n  echo $x\ndone\ndone\n{RUN}": ("done", "done"),
    f"echo a\nfi\n{RUN}": ("fi", "fi"),
    f"echo a\n}}\n{RUN}": ("}", "}"),
    f"if true; then\n  echo a\nelse if false; then\n  echo b\nfi\n{RUN}": ("if", "syntax error: unexpected end of file"),
    f"while true; do\n{RUN}": ("while", "syntax error: unexpected end of file"),
    f"if true\n  echo a\nfi\n{RUN}": ("fi", "fi"),
    f"for x in 1 2;\n  echo a\ndone\n{RUN}": ("echo", "echo"),
    f"names = (a b)\n{RUN}": ("(", "("),
    f"echo $(date) (b)\n{RUN}": ("(", "("),
    f"x=$(echo a\n{RUN}": ("(", "unexpected EOF while looking for matching `)'"),
    f"torchrun --name 'a\n{RUN}": ("'", "unexpected EOF while looking for matching `''"),
    f'torchrun --name "a `date` ${{b:-"c"}}\n{RUN}': ('"', "unexpected EOF while looking for matching `\"'"),
    f"case $1 in\n  a) echo a;;\n  b c) echo b;;\nesac\n{RUN}": ("c", "c"),
    f"echo a ;; echo b\n{RUN}": (";;", ";;"),
    f"echo a >\n{RUN}": ("\n", "newline"),
    f"f() {{\n{RUN}": ("f()", "syntax error: unexpected end of file"),
    f"torchrun train.py \\\n  && && echo\n{RUN}": ("&&", "&&"),
}
ACCEPTED = [
    "a=(1 2\n 3 # words\n)\ndeclare -A b=([x]=1)\n" + RUN,
    "case $1 in (a|b) ;; *) echo done;; esac\n" + RUN,
    "cat <<EOF | tee a; echo 'b'\nif it's ( not\nEOF\n" + RUN,
    'echo "$(case x in x) echo ")";; esac)" `echo \\`date\\`` $((1 << 2)) ${a:-"}"} \'(\'\n' + RUN,
    "for ((i = 0; i < 3; i++)); do echo $i; done; ((i++)) || true\n" + RUN,
    "[[ $a =~ ^(x|y)$ && ! -f b ]] && { echo done; }\n" + RUN,
    "function f { echo; }; g() ( echo; )\n! time f 2>&1 >/dev/null | g &> log &\n" + RUN,
    "diff <(echo a) >(cat) < a >> b 2>&1\nexec {fd}>log\nif a; then b; elif c; then d; else e; fi <in\n" + RUN,
    "python - <<'A' <<-\tB\nit's\nA\n\tdone\n\tB\n" + RUN,
]
bash = shutil.which("bash")
version = subprocess.run([bash, "--version"], capture_output=True, text=True).stdout if bash else ""


@pytest.mark.parametrize("script", REFUSED)
def test_the_token_at_which_bash_stops(script):
    fault, (token, said) = fault_of(script), REFUSED[script]
    assert fault is not None
    assert script[fault.at : fault.end] == token
    assert fault.message == (said if " " in said else f"syntax error near unexpected token `{said}'")


@pytest.mark.parametrize("script", ACCEPTED)
def test_what_bash_reads(script):
    assert fault_of(script) is None


@pytest.mark.skipif("version 5.2" not in version, reason="needs bash 5.2")
def test_bash_agrees():
    for script in (*REFUSED, *ACCEPTED):
        answer = subprocess.run([bash, "-n"], input=script, capture_output=True, text=True)
        fault = fault_of(script)
        assert (answer.returncode != 0, script) == (fault is not None, script)
        assert fault is None or fault.message in answer.stderr


def test_a_placeholder_is_to_be_filled_in():
    fault = fault_of("DATA=<your path>\n" + RUN)
    assert fault is not None
    assert not fault.message
