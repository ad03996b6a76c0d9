"""Pre-trains or fine-tunes a mixture-of-experts model by a recipe of Megatron-Bridge, with the split given here.

    torchrun --nproc-per-node 8 train.py --recipe qwen3_30b_a3b_pretrain_config --ep 8 --steps 50 …

A recipe brings the model and its training; what depends on the cluster is set by options: parallelism, batch, length,
and how experts exchange tokens (--dispatcher alltoall: NCCL; flex: the module deep_ep, over EFA by UCCL).
"""

import argparse

import megatron.bridge.recipes as recipes
from megatron.bridge.recipes.utils.dataset_utils import apply_dataset_override
from megatron.bridge.training.finetune import finetune
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--recipe", required=True, help="name of a function of megatron.bridge.recipes")
    add("--task", choices=("pretrain", "finetune"), default="pretrain")
    add("--weights", default="", help="directory of the converted weights to fine-tune")
    add("--out", required=True, help="directory of checkpoints")
    add("--steps", type=int, required=True)
    add("--seq-len", type=int, required=True)
    add("--micro-batch", type=int, required=True)
    add("--global-batch", type=int, required=True)
    for name in ("tp", "pp", "cp", "ep", "etp"):
        add(f"--{name}", type=int, default=1)
    add("--dispatcher", choices=("alltoall", "flex"), default="alltoall")
    add("--overlap", choices=("true", "false"), default="false", help="hide the experts' exchange behind computation")
    add("--lr", type=float, required=True)
    add("--min-lr", type=float, required=True)
    add("--warmup", type=int, default=0)
    add("--seed", type=int, default=1234)
    add("--checkpoint-every", type=int, required=True)
    return parser.parse_args()


def stages(layers, count, predicts_further):
    """Layers of each pipeline stage where they can't be split evenly: 61 over 8 are five stages of 8, then three of 7,
    the last of which has the output layer. `predicts_further`: a multi-token prediction layer follows them."""
    size, larger = divmod(layers, count)
    parts = [size + 1] * larger + [size] * (count - larger)
    layout = [["decoder"] * part for part in parts]
    layout[0].insert(0, "embedding")
    layout[-1] += (["mtp"] if predicts_further else []) + ["loss"]
    return layout


def split(config, options):
    model = config.model
    model.tensor_model_parallel_size = options.tp
    model.pipeline_model_parallel_size = options.pp
    model.virtual_pipeline_model_parallel_size = None
    model.context_parallel_size = options.cp
    model.expert_model_parallel_size = options.ep
    model.expert_tensor_parallel_size = options.etp
    model.sequence_parallel = options.tp > 1
    model.moe_token_dispatcher_type = options.dispatcher
    model.moe_enable_deepep = options.dispatcher == "flex"
    further = bool(getattr(model, "mtp_num_layers", None))
    uneven = model.num_layers % options.pp != 0 or further
    model.pipeline_model_parallel_layout = stages(model.num_layers, options.pp, further) if uneven else None
    if config.comm_overlap is not None:
        config.comm_overlap.overlap_moe_expert_parallel_comm = options.overlap == "true"


def main():
    options = arguments()
    config = getattr(recipes, options.recipe)()
    if options.task == "finetune":
        config = apply_dataset_override(config, dataset_type="llm-finetune", seq_length=options.seq_len)
        config.checkpoint.pretrained_checkpoint = options.weights
    else:
        config = apply_dataset_override(config, dataset_type="llm-pretrain-mock", seq_length=options.seq_len)
    split(config, options)

    config.model.seq_length = options.seq_len
    config.train.train_iters = options.steps
    config.train.micro_batch_size = options.micro_batch
    config.train.global_batch_size = options.global_batch
    config.optimizer.lr = options.lr
    config.optimizer.min_lr = options.min_lr
    config.scheduler.lr_warmup_iters = options.warmup
    config.scheduler.lr_decay_iters = options.steps
    config.rng.seed = options.seed
    config.checkpoint.save = options.out
    config.checkpoint.load = options.out
    config.checkpoint.save_interval = options.checkpoint_every
    config.logger.log_interval = 1

    run = finetune if options.task == "finetune" else pretrain
    run(config=config, forward_step_func=forward_step)


if __name__ == "__main__":
    main()
