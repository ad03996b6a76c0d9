"""The model: built without memory, sharded, then given weights."""

import hashlib

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.tensor import DTensor
import transformers


def model_config(args):
    """The Hugging Face configuration that the options describe."""
    common = dict(
        vocab_size=args.vocab_size,
        hidden_size=args.hidden_width,
        num_hidden_layers=args.num_layers,
        num_attention_heads=args.num_heads,
        intermediate_size=args.intermediate_size,
        max_position_embeddings=args.max_context_width,
        tie_word_embeddings=args.tie_embeddings,
        use_cache=False,
    )
    if args.model_type == "gpt_neox":
        return transformers.GPTNeoXConfig(**common)
    common.update(
        num_key_value_heads=args.num_key_value_heads,
        rope_theta=args.rope_theta,
        rope_parameters={"rope_type": "default", "rope_theta": args.rope_theta},  # transformers 5 reads this one
    )
    if args.model_type == "llama":
        return transformers.LlamaConfig(**common)
    if args.model_type == "mistral":
        return transformers.MistralConfig(sliding_window=None, **common)
    return transformers.MixtralConfig(
        sliding_window=None,
        num_local_experts=args.num_experts,
        num_experts_per_tok=args.experts_per_token,
        output_router_logits=True,  # adds the load-balancing loss
        **common,
    )


def build_mesh(args, device_type, world):
    """One dimension for full sharding, (replicate, shard) for hybrid."""
    if args.sharding_strategy != "hybrid":
        return init_device_mesh(device_type, (world,), mesh_dim_names=("shard",))
    if world % args.shard_size:
        raise SystemExit(f"--shard_size {args.shard_size} does not divide the world of {world}")
    shape = (world // args.shard_size, args.shard_size)
    return init_device_mesh(device_type, shape, mesh_dim_names=("replicate", "shard"))


def decoder_layers(model):
    """The blocks that are sharded, and recomputed, one by one."""
    inner = model.gpt_neox if hasattr(model, "gpt_neox") else model.model
    return inner.layers


def build_model(args, mesh, device):
    """A sharded model with fresh weights; (model, parameters, parameters that one token passes through).

    Nothing is ever whole on one device: the model is made on the meta device, sharded, and only then each rank draws its
    own shards.
    """
    config = model_config(args)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    total, active = count_parameters(model, args)

    layers = decoder_layers(model)
    if args.activation_checkpointing:
        blocks = set(layers)
        apply_activation_checkpointing(model, check_fn=lambda module: module in blocks)
    policy = dict(
        mesh=mesh,
        mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16 if args.precision == "bf16" else None,
                                       reduce_dtype=torch.float32),
        offload_policy=CPUOffloadPolicy() if args.cpu_offload else OffloadPolicy(),
        reshard_after_forward=args.sharding_strategy != "grad_op",
    )
    for layer in decoder_layers(model):
        fully_shard(layer, **policy)
    fully_shard(model, **policy)

    home = torch.device("cpu") if args.cpu_offload else device
    model.to_empty(device=home)
    model.tie_weights()  # to_empty gave each name a tensor of its own
    initialise(model, config, args.seed, mesh, device)
    return model, total, active


def initialise(model, config, seed, mesh, device):
    """Gives every parameter and every buffer a value: to_empty leaves whatever was in memory.

    Each shard is drawn from a generator of its own, made from the seed, the parameter's name and the place of the shard, so
    that ranks draw different values and replicas the same.
    """
    place = mesh.get_local_rank("shard")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            local = parameter.to_local() if isinstance(parameter, DTensor) else parameter
            if parameter.ndim >= 2:
                digest = hashlib.sha256(f"{seed}/{name}/{place}".encode()).digest()
                generator = torch.Generator(local.device).manual_seed(int.from_bytes(digest[:7], "big"))
                local.normal_(0.0, config.initializer_range, generator=generator)
            else:
                local.fill_(0.0 if name.endswith("bias") else 1.0)  # else the weight of a norm
        made = set()
        for module in model.modules():
            if hasattr(module, "inv_freq") and hasattr(module, "config"):  # rotary embeddings
                with torch.device(device):
                    fresh = type(module)(config)
                for name, buffer in fresh.named_buffers(recurse=False):
                    module.register_buffer(name, buffer, persistent=False)
                    made.add(id(buffer))
                if hasattr(module, "original_inv_freq"):
                    module.original_inv_freq = fresh.original_inv_freq
    left = [name for name, buffer in model.named_buffers() if id(buffer) not in made]
    if left:
        raise RuntimeError(f"no value is known for the buffers {', '.join(left)}")


def count_parameters(model, args):
    """All parameters, and those that one token is multiplied with (of experts, only the chosen ones)."""
    seen, total, active = set(), 0, 0
    embedding = model.get_input_embeddings().weight
    for name, parameter in model.named_parameters():
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        total += parameter.numel()
        if parameter is embedding and not args.tie_embeddings:
            continue  # looked up, not multiplied
        share = args.experts_per_token / args.num_experts if ".experts." in name else 1
        active += int(parameter.numel() * share)
    return total, active


def flops_per_token(args, active):
    """Of forward and backward: 6 for each parameter, and causal attention, which sees half the sequence on average
    (6 x layers x width x length). Recomputation is not counted, as is usual for MFU."""
    return 6 * active + 6 * args.num_layers * args.hidden_width * args.max_context_width
