#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
accelerate launch --num_processes 8 sft.py --config configs/sft.yaml
