def launch_command_parser(parser):
    parser.add_argument("-q", "--quiet", action="store_true")
    resource_args = parser.add_argument_group("Resources")
    resource_args.add_argument("--dynamo_fast", default=False, action="store_true")
    deepspeed_args = parser.add_argument_group("DeepSpeed")
    deepspeed_args.add_argument("--zero_stage", default=None, type=int)
    fsdp_args = parser.add_argument_group("FSDP")
    fsdp_args.add_argument("--fsdp_offload", default="false", type=str)
    return parser
