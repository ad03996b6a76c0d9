"""Fine-tunes DETR on pictures with boxes in COCO form, with DistributedDataParallel. Started by torchrun."""

import argparse
import datetime
import json
import math
import os
import sys

import torch
import torch.distributed as dist
import transformers
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Pictures(Dataset):
    """FOLDER/images and FOLDER/<part>.json."""

    def __init__(self, folder, part):
        with open(os.path.join(folder, f"{part}.json"), encoding="utf-8") as file:
            coco = json.load(file)
        self.folder, self.images = os.path.join(folder, "images"), coco["images"]
        self.classes = {entry["id"]: (number, entry["name"]) for number, entry in enumerate(coco["categories"])}
        self.boxes = {image["id"]: [] for image in self.images}
        for box in coco["annotations"]:
            self.boxes[box["image_id"]].append({**box, "category_id": self.classes[box["category_id"]][0],
                                                "iscrowd": box.get("iscrowd", 0)})

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        entry = self.images[index]
        picture = Image.open(os.path.join(self.folder, entry["file_name"])).convert("RGB")
        return picture, {"image_id": entry["id"], "annotations": self.boxes[entry["id"]]}


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def mean_over_ranks(total, count, device):
    sums = torch.tensor([total, float(count)], device=device)
    dist.all_reduce(sums)
    return (sums[0] / sums[1].clamp(min=1)).item()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--batch_size", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--image_size", type=int, default=800)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", required=True)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    args = p.parse_args()

    local = int(os.environ["LOCAL_RANK"])
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=datetime.timedelta(minutes=10))
    rank = dist.get_rank()
    say(f"Rank {rank}: world of {dist.get_world_size()} on {device.type} over {dist.get_backend()}")
    torch.manual_seed(args.seed)

    size = {"height": args.image_size, "width": args.image_size}
    processor = transformers.DetrImageProcessor.from_pretrained(args.model, size=size)
    train, held = Pictures(args.data, "train"), Pictures(args.data, "val")
    names = dict(train.classes.values())
    net = transformers.DetrForObjectDetection.from_pretrained(args.model, num_labels=len(names), id2label=names,
                                                              ignore_mismatched_sizes=True)
    model = DistributedDataParallel(net.to(device), device_ids=[local] if on_gpu else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    def collate(rows):
        batch = processor([picture for picture, _ in rows], annotations=[boxes for _, boxes in rows], return_tensors="pt")
        labels = [{key: value.to(device) for key, value in label.items()} for label in batch["labels"]]
        return batch["pixel_values"].to(device), batch["pixel_mask"].to(device), labels

    def loader(pictures, shuffle):
        sampler = DistributedSampler(pictures, shuffle=shuffle, seed=args.seed)
        return sampler, DataLoader(pictures, batch_size=args.batch_size, sampler=sampler, collate_fn=collate)

    sampler, batches = loader(train, True)
    _, tests = loader(held, False)
    path = os.path.join(args.out, "snapshot.pt")
    first = 0
    if args.resume == "auto" and os.path.exists(path):
        state = torch.load(path, map_location=device, weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epochs"]
    dist.barrier()  # all have looked before rank 0 writes

    for epoch in range(first, args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        for pixels, mask, labels in batches:
            loss = model(pixel_values=pixels, pixel_mask=mask, labels=labels).loss
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            total += loss.item()
        mean = mean_over_ranks(total, len(batches), device)
        model.eval()
        with torch.no_grad():
            scored = [model.module(pixel_values=x, pixel_mask=m, labels=y).loss.item() for x, m, y in tests]
        test = mean_over_ranks(sum(scored), len(scored), device)
        if not math.isfinite(mean):
            raise SystemExit(f"the loss of epoch {epoch} is {mean}")
        if rank == 0:
            say(f"Epoch {epoch} | Loss: {mean:.4f} | Validation loss: {test:.4f}")
            os.makedirs(args.out, exist_ok=True)
            torch.save({"epochs": epoch + 1, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()},
                       path + ".partial")
            os.replace(path + ".partial", path)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
