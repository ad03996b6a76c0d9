"""Options of the trainer and the schedule that follows from them."""

import argparse
import math


def switch(text):
    """on/off in the words of a command line, a manifest or a shell."""
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def parse_args(argv=None):
    p = argparse.ArgumentParser(description="Trains a decoder from scratch, sharded over all ranks")
    model = p.add_argument_group("model")
    model.add_argument("--model_type", default="llama", choices=["llama", "mistral", "mixtral", "gpt_neox"])
    model.add_argument("--vocab_size", type=int, default=32000)
    model.add_argument("--max_context_width", type=int, default=2048, help="tokens of one sequence")
    model.add_argument("--hidden_width", type=int, default=768)
    model.add_argument("--num_layers", type=int, default=12)
    model.add_argument("--num_heads", type=int, default=12)
    model.add_argument("--num_key_value_heads", type=int, default=None, help="default: as many as heads")
    model.add_argument("--intermediate_size", type=int, default=2048)
    model.add_argument("--rope_theta", type=float, default=10000.0)
    model.add_argument("--tie_embeddings", type=switch, default=False)
    model.add_argument("--num_experts", type=int, default=8, help="mixtral only")
    model.add_argument("--experts_per_token", type=int, default=2, help="mixtral only")

    data = p.add_argument_group("data")
    data.add_argument("--dataset", required=True, help="a text file, or a data set of the hub, which is streamed")
    data.add_argument("--dataset_config_name", default=None)
    data.add_argument("--tokenizer", default="bytes", help="bytes (256 ids), or a tokenizer of the hub or in a folder")

    run = p.add_argument_group("run")
    run.add_argument("--train_batch_size", type=int, default=1, help="sequences of one rank")
    run.add_argument("--val_batch_size", type=int, default=1)
    run.add_argument("--max_steps", type=int, default=100)
    run.add_argument("--seed", type=int, default=12345)
    run.add_argument("--logging_freq", type=int, default=1)
    run.add_argument("--validation_freq", type=int, default=0, help="steps between two; 0: none")
    run.add_argument("--validation_batches", type=int, default=10)
    run.add_argument("--peak_tflops_per_gpu", type=float, default=0.0,
                     help="dense peak in the precision of training, for MFU: 989 is an H100 in bf16; 0: not known")
    run.add_argument("--timeout", type=float, default=600, help="seconds that a collective may take")

    opt = p.add_argument_group("optimizer")
    opt.add_argument("--lr", type=float, default=1e-4)
    opt.add_argument("--min_lr", type=float, default=1e-5)
    opt.add_argument("--lr_decay_style", default="cosine", choices=["cosine", "linear", "constant"])
    opt.add_argument("--warmup", type=float, default=0.0032, help="share of max_steps")
    opt.add_argument("--plateau", type=float, default=0.0, help="share of max_steps at lr after the warm-up")
    opt.add_argument("--weight_decay", type=float, default=0.2)
    opt.add_argument("--beta1", type=float, default=0.9)
    opt.add_argument("--beta2", type=float, default=0.95)
    opt.add_argument("--grad_clip", type=float, default=1.0, help="limit of the global norm; 0: none")

    shard = p.add_argument_group("sharding")
    shard.add_argument("--sharding_strategy", default="full", choices=["full", "grad_op", "hybrid"])
    shard.add_argument("--shard_size", type=int, default=None, help="ranks of a group of hybrid sharding")
    shard.add_argument("--precision", default="bf16", choices=["bf16", "fp32"],
                       help="of the passes; weights, moments and sums of gradients are fp32")
    shard.add_argument("--activation_checkpointing", type=switch, default=True)
    shard.add_argument("--cpu_offload", type=switch, default=False)

    ckpt = p.add_argument_group("checkpoints")
    ckpt.add_argument("--checkpoint_dir", default=None)
    ckpt.add_argument("--checkpoint_freq", type=int, default=0, help="steps between two; 0: only at the end")
    ckpt.add_argument("--checkpoint_keep", type=int, default=2)
    ckpt.add_argument("--resume_from_checkpoint", default="auto", help="auto (the newest), never, or a folder")

    args = p.parse_args(argv)
    if args.num_key_value_heads is None:
        args.num_key_value_heads = args.num_heads
    if args.hidden_width % args.num_heads:
        p.error(f"--hidden_width {args.hidden_width} is not a multiple of --num_heads {args.num_heads}")
    if args.num_heads % args.num_key_value_heads:
        p.error(f"--num_heads {args.num_heads} is not a multiple of --num_key_value_heads {args.num_key_value_heads}")
    if args.sharding_strategy == "hybrid" and not args.shard_size:
        p.error("--sharding_strategy hybrid needs --shard_size, e.g. the GPUs of a node")
    if args.min_lr > args.lr:
        p.error(f"--min_lr {args.min_lr} is above --lr {args.lr}")
    return args


def learning_rate(args, step):
    """Of the update with this number, from 0: linear warm-up, plateau, then decay to min_lr."""
    warm = math.ceil(args.warmup * args.max_steps)
    if step < warm:
        return args.lr * (step + 1) / warm
    flat = warm + math.ceil(args.plateau * args.max_steps)
    if step < flat or args.lr_decay_style == "constant":
        return args.lr
    done = min(1.0, (step - flat) / max(1, args.max_steps - 1 - flat))
    share = 1 - done if args.lr_decay_style == "linear" else 0.5 * (1 + math.cos(math.pi * done))
    return args.min_lr + (args.lr - args.min_lr) * share
