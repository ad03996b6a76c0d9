"""Tokens: every rank reads its own part, in sequences of exactly the asked length."""

import os

import torch


class TextFile:
    """Windows of one text file. Which window is the i-th of the run depends on seed and i only, so that a run goes on where
    it stopped, with any number of ranks. The last tenth is kept for validation."""

    def __init__(self, path, encode, seq_len, seed):
        with open(path, "rb") as file:
            raw = file.read()
        ids = torch.frombuffer(bytearray(raw), dtype=torch.uint8) if encode is None else \
            torch.tensor(encode(raw.decode("utf-8")), dtype=torch.int32)
        windows = ids.numel() // seq_len
        if windows < 10:
            raise SystemExit(f"{path} holds {windows} sequences of {seq_len} tokens; at least 10 are needed")
        self.windows = ids[: windows * seq_len].view(windows, seq_len)
        self.train = windows - windows // 10
        self.seed = seed
        self.order = (-1, None)

    def batch(self, first, count):
        """The sequences `first` … `first + count - 1` of the run."""
        return torch.stack([self.window(i) for i in range(first, first + count)])

    def window(self, index):
        epoch, place = divmod(index, self.train)
        if self.order[0] != epoch:
            generator = torch.Generator().manual_seed(self.seed + epoch)
            self.order = (epoch, torch.randperm(self.train, generator=generator))
        return self.windows[int(self.order[1][place])].long()

    def validation(self, rank, world, batch, batches):
        held = self.windows[self.train:]
        for i in range(batches):
            rows = [(i * world * batch + rank * batch + j) % len(held) for j in range(batch)]
            yield held[rows].long()


class TextFileStream:
    def __init__(self, text, rank, world, batch):
        self.text, self.rank, self.world, self.size = text, rank, world, batch
        self.taken = 0  # sequences, of all ranks

    def __iter__(self):
        while True:
            first = self.taken + self.rank * self.size
            self.taken += self.world * self.size
            yield self.text.batch(first, self.size)

    def state(self):
        return {"taken": self.taken}

    def restore(self, state):
        self.taken = state["taken"]


class HubStream:
    """A data set of the hub, streamed: each rank gets other shards of it, texts are joined and cut into sequences."""

    def __init__(self, name, config, split, encode, seq_len, rank, world, batch, seed):
        from datasets import load_dataset
        from datasets.distributed import split_dataset_by_node

        whole = load_dataset(name, config, split=split, streaming=True)
        if split == "train":
            whole = whole.shuffle(seed=seed, buffer_size=1000)
        self.source = split_dataset_by_node(whole, rank=rank, world_size=world)
        self.encode, self.seq_len, self.size = encode, seq_len, batch
        self.rest = []  # tokens that no sequence has taken yet

    def __iter__(self):
        while True:
            empty = True
            for row in self.source:
                empty = False
                self.rest.extend(self.encode(row["text"]))
                while len(self.rest) >= self.seq_len * self.size:
                    ids = torch.tensor(self.rest[: self.seq_len * self.size])
                    self.rest = self.rest[self.seq_len * self.size:]
                    yield ids.view(self.size, self.seq_len)
            if empty:
                raise RuntimeError("the data set has no text for this rank: it has fewer shards than there are ranks")

    def state(self):
        return {"source": self.source.state_dict(), "rest": self.rest}

    def restore(self, state):
        self.source.load_state_dict(state["source"])
        self.rest = list(state["rest"])


def make_encoder(args):
    """(text -> ids, or None for bytes; number of ids)."""
    if args.tokenizer == "bytes":
        return None, 256
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(args.tokenizer)
    end = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
    return lambda text: tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] + end, len(tokenizer)


def make_streams(args, rank, world):
    """(training batches of this rank, function that gives validation batches)."""
    encode, ids = make_encoder(args)
    if ids > args.vocab_size:
        raise SystemExit(f"the tokenizer has {ids} ids, the model only {args.vocab_size}: raise --vocab_size")
    if os.path.exists(args.dataset):
        text = TextFile(args.dataset, encode, args.max_context_width, args.seed)
        train = TextFileStream(text, rank, world, args.train_batch_size)
        return train, lambda: text.validation(rank, world, args.val_batch_size, args.validation_batches)
    if encode is None:
        encode = lambda text: list(text.encode()) + [0]  # noqa: E731

    def stream(split, batch):
        return HubStream(args.dataset, args.dataset_config_name, split, encode, args.max_context_width, rank, world,
                         batch, args.seed)

    def validation():
        for number, batch in enumerate(stream("validation", args.val_batch_size)):
            if number == args.validation_batches:
                return
            yield batch

    return stream("train", args.train_batch_size), validation
