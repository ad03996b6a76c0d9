"""Starts V-JEPA's own training with a configuration of its repository and the values of the case. One process for each GPU: ranks
come from torchrun, or from whatever sets RANK, LOCAL_RANK and WORLD_SIZE."""

import argparse
import datetime
import os

import torch
import yaml


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--config", required=True)
    p.add_argument("--folder", required=True, help="of checkpoints and logs")
    p.add_argument("--data", required=True, help="a csv with a video a line")
    p.add_argument("--batch_size", type=int, required=True, help="videos of one GPU")
    p.add_argument("--lr", type=float, required=True)
    args = p.parse_args()
    local = int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0")))
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
    world = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", "1")))
    torch.cuda.set_device(local)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world, timeout=datetime.timedelta(minutes=10),
                                         device_id=torch.device("cuda", local))
    with open(args.config, encoding="utf-8") as file:
        settings = yaml.safe_load(file)
    settings["folder"] = args.folder
    settings["data"].update(datasets=[args.data], batch_size=args.batch_size)
    settings["optimization"]["lr"] = args.lr
    if rank == 0:
        os.makedirs(args.folder, exist_ok=True)
        with open(os.path.join(args.folder, "params.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(settings, file)
    torch.distributed.barrier()

    from app.scaffold import main as run_app  # of the repository, which is the working directory

    run_app(settings["app"], args=settings)


if __name__ == "__main__":
    main()
