"""The idx files of MNIST and Fashion-MNIST, plain or gzipped, as Debian's packages and torchvision lay them out."""

import gzip
import os
import struct

import torch


def find(folder, name):
    """FOLDER/name[.gz], or torchvision's FOLDER/MNIST/raw/name and FOLDER/FashionMNIST/raw/name."""
    for below in ("", "raw", "MNIST/raw", "FashionMNIST/raw"):
        for ending in ("", ".gz"):
            path = os.path.join(folder, below, name + ending)
            if os.path.exists(path):
                return path
    raise SystemExit(f"{folder} has no {name}: it needs the four idx files of MNIST or Fashion-MNIST "
                     "(Debian's package dataset-fashion-mnist has them in /usr/share/datasets/fashion-mnist)")


def read(path):
    """An array of bytes: two zeros, the type (8), the count of dimensions, each of them, then the values."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    zero, kind, dimensions = struct.unpack(">HBB", data[:4])
    if zero or kind != 8:
        raise SystemExit(f"{path} is not an idx file of bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:4 + 4 * dimensions])
    return torch.frombuffer(bytearray(data[4 + 4 * dimensions:]), dtype=torch.uint8).view(shape)


def load(folder, part, samples=0):
    """Images as (N, 784) floats around 0 with variance near 1, and their classes, of the part "train" or "t10k"."""
    images = read(find(folder, f"{part}-images-idx3-ubyte"))
    labels = read(find(folder, f"{part}-labels-idx1-ubyte"))
    count = min(samples or len(images), len(images))
    return (images[:count].flatten(1).float() / 255 - 0.2860) / 0.3530, labels[:count].long()
