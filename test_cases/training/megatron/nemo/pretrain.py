"""Pre-trains a GPT or Llama model with NeMo 2 on text that Megatron has tokenized, or on mock data.

    torchrun --nproc-per-node 8 pretrain.py --model llama-180m --out /fsx/run --steps 100

One process a GPU, started by torchrun or ft_launcher, which also say how many there are. NeMo prints one line a step
("Training epoch 0, iteration 4/99 | lr: … | reduced_train_loss: …").
"""

import argparse
import os

import torch
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.optimizer import OptimizerConfig
from nemo import lightning as nl
from nemo.collections import llm

# Name: the class of the model, its configuration.
MODELS = {
    "llama-180m": (
        llm.LlamaModel,
        lambda: llm.LlamaConfig(num_layers=12, hidden_size=768, ffn_hidden_size=3072, num_attention_heads=12),
    ),
    "gpt3-126m": (llm.GPTModel, llm.GPTConfig126M),
    "gpt3-5b": (llm.GPTModel, llm.GPTConfig5B),
    "gpt3-40b": (llm.GPTModel, llm.GPTConfig40B),
    "gpt3-175b": (llm.GPTModel, llm.GPTConfig175B),
    "llama2-7b": (llm.LlamaModel, llm.Llama2Config7B),
    "llama2-70b": (llm.LlamaModel, llm.Llama2Config70B),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--model", choices=sorted(MODELS), required=True)
    add("--out", required=True, help="directory of checkpoints and logs")
    add("--data", default="mock", help="prefix of tokenized text (PREFIX.bin, PREFIX.idx), or mock")
    add("--steps", type=int, required=True)
    add("--seq-len", type=int, required=True)
    add("--micro-batch", type=int, required=True)
    add("--global-batch", type=int, required=True)
    for name in ("tp", "pp", "cp", "vpp"):
        add(f"--{name}", type=int, default=1)
    add("--lr", type=float, required=True)
    add("--min-lr", type=float, required=True)
    add("--warmup", type=int, default=0)
    add("--weight-decay", type=float, default=0.1)
    add("--beta1", type=float, default=0.9)
    add("--beta2", type=float, default=0.95)
    add("--clip", type=float, default=1.0)
    add("--seed", type=int, default=1234)
    add("--checkpoint-every", type=int, required=True)
    add("--keep", type=int, default=2)
    return parser.parse_args()


def strategy(options):
    """How the model is split. Sequence parallelism goes with tensor parallelism; optimizer state is always shared."""
    return nl.MegatronStrategy(
        tensor_model_parallel_size=options.tp,
        pipeline_model_parallel_size=options.pp,
        pipeline_dtype=torch.bfloat16 if options.pp > 1 else None,
        virtual_pipeline_model_parallel_size=options.vpp if options.vpp > 1 else None,
        context_parallel_size=options.cp,
        sequence_parallel=options.tp > 1,
        gradient_as_bucket_view=True,
        ckpt_async_save=True,
        ckpt_parallel_load=True,
        ddp=DistributedDataParallelConfig(
            use_distributed_optimizer=True,
            overlap_grad_reduce=True,
            overlap_param_gather=True,
            grad_reduce_in_fp32=True,
        ),
    )


def data(options):
    common = {
        "seq_length": options.seq_len,
        "micro_batch_size": options.micro_batch,
        "global_batch_size": options.global_batch,
    }
    if options.data == "mock":
        return llm.MockDataModule(**common)
    return llm.PreTrainingDataModule(paths=[options.data], split="99,1,0", **common)


def optimizer(options):
    return nl.MegatronOptimizerModule(
        config=OptimizerConfig(
            optimizer="adam",
            lr=options.lr,
            weight_decay=options.weight_decay,
            adam_beta1=options.beta1,
            adam_beta2=options.beta2,
            clip_grad=options.clip,
            bf16=True,
            use_distributed_optimizer=True,
        ),
        lr_scheduler=nl.lr_scheduler.CosineAnnealingScheduler(
            warmup_steps=options.warmup, max_steps=options.steps, constant_steps=0, min_lr=options.min_lr
        ),
    )


def main():
    options = arguments()
    of_node = int(os.environ["LOCAL_WORLD_SIZE"])
    torch.manual_seed(options.seed)

    make_model, make_config = MODELS[options.model]
    config = make_config()
    config.seq_length = options.seq_len
    module = data(options)

    checkpoints = nl.ModelCheckpoint(
        every_n_train_steps=options.checkpoint_every, save_last=True, save_top_k=options.keep, monitor="step", mode="max"
    )
    trainer = nl.Trainer(
        accelerator="gpu",
        devices=of_node,
        num_nodes=int(os.environ["WORLD_SIZE"]) // of_node,
        max_steps=options.steps,
        strategy=strategy(options),
        plugins=nl.MegatronMixedPrecision(precision="bf16-mixed"),
        log_every_n_steps=1,
        limit_val_batches=0,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    llm.train(
        model=make_model(config, tokenizer=module.tokenizer),
        data=module,
        trainer=trainer,
        log=nl.NeMoLogger(log_dir=options.out, name=options.model, use_datetime_version=False, ckpt=checkpoints),
        resume=nl.AutoResume(resume_if_exists=True, resume_ignore_no_checkpoint=True),
        optim=optimizer(options),
    )


if __name__ == "__main__":
    main()
