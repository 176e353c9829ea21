"""`fsdp_config` in the releases of transformers that parse it in other ways."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

NOT_TEXT = "TypeError: str expected, not bool"
EXCLUSIVE = "ValueError: `{0}min_num_params` and `{0}transformer_layer_cls_to_wrap` are mutually exclusive."


@each_case(
    ("section", "release", "exception"),
    [
        ("min_num_params: 9, transformer_layer_cls_to_wrap: [Block]", "4.31.0", None),
        ("fsdp_min_num_params: 9, fsdp_transformer_layer_cls_to_wrap: [Block]", "4.31.0", EXCLUSIVE.format("--fsdp_")),
        ("min_num_params: 9, transformer_layer_cls_to_wrap: [Block]", "4.32.0", EXCLUSIVE.format("")),
        ("use_orig_params: true", "4.31.0", None),
        ("use_orig_params: true", "4.32.0", NOT_TEXT),
        ('use_orig_params: "true"', "4.40.2", None),
        ("use_orig_params: true", "4.41.0", None),
        ("forward_prefetch: true", "4.38.2", None),
        ("forward_prefetch: true", "4.39.0", NOT_TEXT),
        ("sync_module_states: 'false', cpu_ram_efficient_loading: true", "4.40.2", None),
    ],
)
def test_what_a_release_refuses(section, release, exception):
    text = f"output_dir: out\nfsdp: full_shard\nfsdp_config: {{{section}}}\n"
    facts = LaunchFacts(gpus=8, complete=True, kind_given=True, target={"transformers": release})
    run = CheckedRun([parse("train.yaml", text, "yaml")], ["huggingface"], facts)
    assert [each.exception for each in run.diagnostics if each.code == "HFT021"] == ([exception] if exception else [])
