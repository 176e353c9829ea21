"""Over all the facts that can be said: what is generated lints clean and gives the facts back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfglint.batch import steps
from cfglint.generators import FRAMEWORK, RUN, generate, kinds, set_frameworks, takes
from cfglint.generators.job_spec import OPTIMIZERS, PRECISIONS, SCHEDULERS, Contradiction, JobSpec, Unreachable
from cfglint.generators.neox import SHAPES

VERSIONS = {
    "transformers": ("4.42.4", "4.51.3", "4.57.6", "5.3.0", "5.23.0"),
    "deepspeed": ("0.17.2", "0.19.2", "0.19.8"),
    "accelerate": ("1.15.0",),
}
OF_ONE_RELEASE = ("axolotl", "llamafactory", "swift", "trl", "verl")
SILENT = ("info",)


@st.composite
def is_launcher(draw):
    """GPUs in full nodes."""
    nodes = draw(st.integers(1, 4))
    each = draw(st.sampled_from((1, 2, 4, 8)))
    return {"gpus": nodes * each, "gpus_per_node": each}


@st.composite
def batches(draw, gpus):
    """A global batch that the GPUs mostly can have, with or without a bound on the micro batch."""
    facts = {}
    if draw(st.booleans()):
        facts["global_batch"] = gpus * draw(st.integers(1, 64))
    facts[draw(st.sampled_from(("micro_batch", "max_micro_batch", "num_examples")))] = draw(st.integers(1, 16))
    return facts


@st.composite
def lengths(draw):
    """Epochs, steps or tokens, and a warm-up that ends before any of them."""
    length = draw(
        st.one_of(
            st.fixed_dictionaries({"epochs": st.sampled_from((1, 2, 3, 0.5, 2.5))}, optional={"num_examples": st.integers(50_000, 10**7)}),
            st.fixed_dictionaries({"steps": st.integers(100, 10**6)}, optional={"num_examples": st.integers(1000, 10**7)}),
            st.fixed_dictionaries({"tokens": st.integers(10**9, 10**12), "seq_length": st.sampled_from((512, 2048, 4096))}),
            st.just({}),
        )
    )
    if draw(st.booleans()):
        length["warmup"] = draw(st.sampled_from((0.0, 0.01, 0.03, 0.1, 1, 7, 50)))
    return length


@st.composite
def training(draw):
    """Rate, optimizer and schedule."""
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "learning_rate": st.sampled_from((1e-5, 2e-5, 5e-5, 3e-4, 0.001)),
                "optimizer": st.sampled_from(OPTIMIZERS),
                "scheduler": st.sampled_from(SCHEDULERS),
                "lora": st.booleans(),
                "precision": st.sampled_from(PRECISIONS),
                "zero": st.integers(0, 3),
                "offload": st.sampled_from(("optimizer", "all")),
            },
        )
    )


@st.composite
def models(draw):
    """A GPT-NeoX model and its layout."""
    shape = st.one_of(
        st.fixed_dictionaries({"model": st.sampled_from(sorted(SHAPES))}),
        st.fixed_dictionaries({"layers": st.integers(1, 48), "hidden": st.just(1024), "heads": st.sampled_from((8, 16))}),
        st.fixed_dictionaries({"layers": st.just(24), "hidden": st.just(2048), "heads": st.just(16), "kv_heads": st.just(4)}),
    )
    sizes = st.sampled_from((1, 1, 2, 4))
    return {**draw(shape), **draw(st.fixed_dictionaries({}, optional={"tensor_parallel": sizes, "pipeline_parallel": sizes}))}


@st.composite
def jobs(draw):
    """(kind, framework, facts), as a person might say them."""
    kind = draw(st.sampled_from((*kinds(), RUN)))
    framework = draw(st.sampled_from(set_frameworks())) if kind == RUN else FRAMEWORK
    facts = draw(is_launcher())
    facts = {**facts, **draw(batches(facts["gpus"])), **draw(lengths()), **draw(training()), **draw(models())}
    facts["target"] = {package: draw(st.sampled_from(versions)) for package, versions in VERSIONS.items()}
    taken = takes(kind, framework)
    return kind, framework, {name: value for name, value in facts.items() if name in taken}


class TestEveryCombination:
    @pytest.mark.slow
    @settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
    @given(jobs())
    def test_is_clean_and_gives_the_facts_back(self, checked, case):
        self.is_clean_and_gives_the_facts_back(checked, case)

    @settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
    @given(jobs())
    def test_some_are_clean_and_give_the_facts_back(self, checked, case):
        self.is_clean_and_gives_the_facts_back(checked, case)

    def is_clean_and_gives_the_facts_back(self, checked, case):
        kind, framework, facts = case
        try:
            if kind in OF_ONE_RELEASE:  # their verdict is unknown for any other
                facts = {name: value for name, value in facts.items() if name != "target"}
            job = JobSpec(**facts)
            made = generate(kind, job, framework)
        except (Contradiction, Unreachable):
            return
        run = checked(made, job)
        assert [f"{each.code} {each.message}" for each in run.diagnostics if each.severity not in SILENT] == []
        assert (run.verdict, run.bugs) == ("accept", [])
        holds(run.resolved, job, made, kind, framework)


def holds(resolved, job, made, kind, framework):
    """What was asked is what the run comes to."""
    neox = "neox" in (kind, framework)
    if kind == "verl":
        assert job.global_batch in (None, resolved["global_batch"])  # prompts
        assert resolved["micro_batch"] <= (job.micro_batch or job.max_micro_batch or resolved["micro_batch"])
    elif kind != "accelerate":
        batch = (resolved["micro_batch"], resolved["accumulation"], resolved["data_parallel"], resolved["global_batch"])
        split = made.split
        assert batch == (split.micro_batch, split.accumulation, split.data_parallel, split.global_batch)
        assert job.global_batch in (None, resolved["global_batch"])
        assert job.micro_batch in (None, resolved["micro_batch"])
        assert resolved["micro_batch"] <= (job.max_micro_batch or resolved["micro_batch"])
    if neox:
        assert resolved["tensor_parallel"] == (job.tensor_parallel or 1)
        assert resolved["pipeline_parallel"] == (job.pipeline_parallel or 1)
        assert job.seq_length in (None, resolved["seq_length"])
    if neox or kind in ("huggingface", RUN):
        length_holds(resolved, job, neox)


def length_holds(resolved, job, neox):
    """Steps and warm-up, where they were said or follow."""
    if job.steps is not None:
        assert resolved["total_steps"] == job.steps
    if job.tokens is not None and job.seq_length is not None:
        a_step = resolved["global_batch"] * job.seq_length
        assert resolved["total_steps"] * a_step >= job.tokens > (resolved["total_steps"] - 1) * a_step
    if job.warmup is not None and job.warmup >= 1 and not neox:
        assert resolved["warmup_steps"] == job.warmup
    if job.warmup is not None and job.warmup >= 1 and neox:
        assert resolved["warmup_steps"] in (None, job.warmup)  # None: no float times the total is exactly that
    if job.warmup and job.warmup < 1 and resolved["total_steps"] and resolved["warmup_steps"] is not None:
        assert abs(resolved["warmup_steps"] - steps.warmup_steps(resolved["total_steps"], job.warmup)) <= 1
