"""Measures the training of Stable Diffusion 2's U-Net with Composer, on random latents and texts. Started by composer."""

import argparse
import time

import torch
from composer import Callback, Trainer
from composer.algorithms import EMA
from composer.models import ComposerModel
from composer.utils import dist
from diffusers import DDPMScheduler, UNet2DConditionModel
from torch.utils.data import DataLoader, Dataset


class MadeUp(Dataset):
    """Latents of pictures (4 channels, an eighth of their size) and embeddings of 77 tokens of text."""

    def __init__(self, count, size, seed):
        self.count, self.size, self.seed = count, size // 8, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(self.seed + index)
        return torch.randn(4, self.size, self.size, generator=draw), torch.randn(77, 1024, generator=draw)


class Diffusion(ComposerModel):
    def __init__(self):
        super().__init__()
        name = "stabilityai/stable-diffusion-2-base"
        self.unet = UNet2DConditionModel.from_config(UNet2DConditionModel.load_config(name, subfolder="unet"))
        self.noise = DDPMScheduler.from_pretrained(name, subfolder="scheduler")

    def forward(self, batch):
        latents, texts = batch
        noise = torch.randn_like(latents)
        when = torch.randint(0, self.noise.config.num_train_timesteps, (len(latents),), device=latents.device)
        made = self.unet(self.noise.add_noise(latents, noise, when), when, encoder_hidden_states=texts).sample
        return made, noise

    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs[0].float(), outputs[1].float())


class Speed(Callback):
    """A line each ten steps; the first ten warm up."""

    def __init__(self, global_batch):
        self.global_batch, self.began = global_batch, None

    def batch_end(self, state, logger):
        step = int(state.timestamp.batch)
        if step % 10:
            return
        loss = state.loss.item()  # waits for the device
        if self.began and dist.get_global_rank() == 0:
            print(f"step: {step} loss: {loss:.4f} images/s: {10 * self.global_batch / (time.perf_counter() - self.began):.1f}",
                  flush=True)
        self.began = time.perf_counter()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--batch_size", type=int, required=True, help="of all devices")
    p.add_argument("--microbatch", type=int, default=4)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--image_size", type=int, default=512)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    dist.initialize_dist("gpu", timeout=600)
    data = MadeUp(args.batch_size * args.steps, args.image_size, args.seed)
    loader = DataLoader(data, batch_size=args.batch_size // dist.get_world_size(), sampler=dist.get_sampler(data),
                        num_workers=4, drop_last=True)
    model = Diffusion()
    Trainer(model=model, train_dataloader=loader, optimizers=torch.optim.AdamW(model.parameters(), lr=args.lr),
            max_duration=f"{args.steps}ba", device="gpu", precision="amp_bf16", device_train_microbatch_size=args.microbatch,
            algorithms=[EMA(half_life="100ba")], callbacks=[Speed(args.batch_size)], seed=args.seed, progress_bar=False).fit()


if __name__ == "__main__":
    main()
