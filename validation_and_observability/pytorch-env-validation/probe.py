#!/usr/bin/env python3
"""What PyTorch says of itself on this rank, as one line of JSON.

Needs Python 3.6 and nothing else; imports torch when there is one. `muster check pytorch` runs it, and
compares the lines of all ranks: srun -l python3 probe.py | muster check pytorch --from -
"""

import json
import os
import platform
import sys


def first_number(names):
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


def plain(value):
    """A value as JSON can hold it: texts of what has no other form."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def probes(torch):
    """Name of a value and how to get it. Whatever a version of PyTorch does not have is null."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    dist = torch.distributed

    def linalg():
        return str(cuda.preferred_linalg_library()).rsplit(".", 1)[-1]

    def opt_einsum(name):
        return getattr(torch.backends.opt_einsum, name)

    def einsum_module():
        module = torch.backends.opt_einsum.get_opt_einsum()
        return None if module is None else getattr(module, "__version__", "unknown")

    yield "torch.version", lambda: torch.__version__
    yield "torch.cxx11_abi", torch.compiled_with_cxx11_abi
    yield "cuda.available", torch.cuda.is_available
    yield "cuda.version", lambda: torch.version.cuda
    yield "cuda.devices", torch.cuda.device_count
    yield "cuda.device_name", lambda: torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    yield "backends.cuda.built", cuda.is_built
    yield "backends.cuda.matmul.allow_tf32", lambda: cuda.matmul.allow_tf32
    yield (
        "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
        lambda: cuda.matmul.allow_fp16_reduced_precision_reduction,
    )
    yield "backends.cuda.cufft_plan_cache.max_size", lambda: cuda.cufft_plan_cache.max_size
    yield "backends.cuda.preferred_linalg_library", linalg
    yield "backends.cuda.flash_sdp_enabled", cuda.flash_sdp_enabled
    yield "backends.cuda.math_sdp_enabled", cuda.math_sdp_enabled
    yield "backends.cuda.mem_efficient_sdp_enabled", cuda.mem_efficient_sdp_enabled
    yield "backends.cudnn.version", cudnn.version
    yield "backends.cudnn.available", cudnn.is_available
    yield "backends.cudnn.enabled", lambda: cudnn.enabled
    yield "backends.cudnn.allow_tf32", lambda: cudnn.allow_tf32
    yield "backends.cudnn.deterministic", lambda: cudnn.deterministic
    yield "backends.cudnn.benchmark", lambda: cudnn.benchmark
    yield "backends.cudnn.benchmark_limit", lambda: cudnn.benchmark_limit
    yield "backends.mkl.available", torch.backends.mkl.is_available
    yield "backends.mkldnn.available", torch.backends.mkldnn.is_available
    yield "backends.openmp.available", torch.backends.openmp.is_available
    yield "backends.opt_einsum.available", torch.backends.opt_einsum.is_available
    yield "backends.opt_einsum.module", einsum_module
    yield "backends.opt_einsum.enabled", lambda: opt_einsum("enabled")
    yield "backends.opt_einsum.strategy", lambda: opt_einsum("strategy")
    yield "distributed.available", dist.is_available
    yield "distributed.mpi", lambda: dist.is_mpi_available()
    yield "distributed.nccl", lambda: dist.is_nccl_available()
    yield "distributed.gloo", lambda: dist.is_gloo_available()
    yield "distributed.nccl_version", lambda: ".".join(map(str, torch.cuda.nccl.version()))


def main():
    record = {
        "muster": "pytorch-environment",
        "schema_version": 1,
        "rank": first_number(["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                              "JOB_COMPLETION_INDEX"]),
        "world": first_number(["WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]),
        "host": platform.node(),
        "python": platform.python_version(),
        "values": {},
    }
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        record["absent" if absent else "error"] = str(error)
    except Exception as error:  # pylint: disable=broad-except
        record["error"] = "{}: {}".format(type(error).__name__, error)
    else:
        for name, ask in probes(torch):
            try:
                record["values"][name] = plain(ask())
            except Exception:  # pylint: disable=broad-except
                record["values"][name] = None
    sys.stdout.write(json.dumps(record, sort_keys=True) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
