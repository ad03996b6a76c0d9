"""A decoder-only language model as plain functions over a dictionary of arrays.

Every array has a sharding over the mesh's two axes: `data` splits the batch, and with it parameters and
optimizer state, which are gathered where they are used (what FSDP does); `model` splits heads, the MLP and
the vocabulary (tensor parallelism). XLA derives the collectives from these shardings.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of the model. `ffn` is the width of the MLP; heads divide `dim`."""

    layers: int
    dim: int
    heads: int
    ffn: int
    vocab: int

    @property
    def head(self):
        return self.dim // self.heads

    def parameters(self):
        """How many weights there are; the embedding is also the output layer."""
        layer = 4 * self.dim * self.dim + 2 * self.dim * self.ffn + 2 * self.dim
        return self.layers * layer + self.vocab * self.dim + self.dim

    def flops_per_token(self, length):
        """Of one forward and backward pass: 6 for each weight, and attention's 12·layers·dim·length / 2."""
        return 6 * self.parameters() + 6 * self.layers * self.dim * length


SIZES = {
    "lm-2b": Shape(layers=18, dim=3072, heads=24, ffn=12288, vocab=32000),
    "lm-tiny": Shape(layers=4, dim=128, heads=4, ffn=512, vocab=256),
}


# Name: (shape, partition, standard deviation of the start). L layers, D dim, H heads, K head, F ffn, V vocabulary.
def _table(s):
    narrow = 0.02
    out = 0.02 / math.sqrt(2 * s.layers)  # what is added to the residual stream 2·layers times
    return {
        "embed": ((s.vocab, s.dim), P("model", "data"), narrow),
        "norm": ((s.dim,), P(None), None),
        "layers": {
            "norm1": ((s.layers, s.dim), P(None, None), None),
            "qkv": ((s.layers, s.dim, 3, s.heads, s.head), P(None, "data", None, "model", None), narrow),
            "out": ((s.layers, s.heads, s.head, s.dim), P(None, "model", None, "data"), out),
            "norm2": ((s.layers, s.dim), P(None, None), None),
            "up": ((s.layers, s.dim, s.ffn), P(None, "data", "model"), narrow),
            "down": ((s.layers, s.ffn, s.dim), P(None, "model", "data"), out),
        },
    }


def _is_entry(node):
    return isinstance(node, tuple)


def shardings(shape, mesh):
    """The sharding of every parameter, in the tree of `initialise`."""
    return jax.tree.map(lambda entry: NamedSharding(mesh, entry[1]), _table(shape), is_leaf=_is_entry)


def decayed(shape):
    """True for what weight decay applies to: all but the norms."""
    return jax.tree.map(lambda entry: entry[2] is not None, _table(shape), is_leaf=_is_entry)


def initialise(shape, key):
    """Parameters in float32. Call it under jit with out_shardings, so that no device ever holds them whole."""
    entries, tree = jax.tree.flatten(_table(shape), is_leaf=_is_entry)
    keys = jax.random.split(key, len(entries))
    arrays = [
        jnp.ones(size, jnp.float32) if deviation is None else deviation * jax.random.normal(k, size, jnp.float32)
        for (size, _, deviation), k in zip(entries, keys)
    ]
    return jax.tree.unflatten(tree, arrays)


def _rms_norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def _rotate(x, angles):
    """Rotary position embedding (arXiv:2104.09864) of [batch, length, heads, head]."""
    even, odd = x[..., ::2].astype(jnp.float32), x[..., 1::2].astype(jnp.float32)
    cos, sin = jnp.cos(angles)[None, :, None, :], jnp.sin(angles)[None, :, None, :]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape).astype(x.dtype)


def _layer(x, weights, angles, dtype):
    w = jax.tree.map(lambda a: a.astype(dtype), weights)
    y = _rms_norm(x, weights["norm1"])
    q, k, v = jnp.moveaxis(jnp.einsum("bld,dchk->bclhk", y, w["qkv"]), 1, 0)
    mixed = jax.nn.dot_product_attention(_rotate(q, angles), _rotate(k, angles), v, is_causal=True)
    x = x + jnp.einsum("blhk,hkd->bld", mixed, w["out"])
    y = _rms_norm(x, weights["norm2"])
    return x + jax.nn.gelu(y @ w["up"]) @ w["down"]


def loss(parameters, tokens, shape, mesh, dtype, remat):
    """Mean cross-entropy in nats of predicting tokens[:, 1:] from tokens[:, :-1]."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    batch = NamedSharding(mesh, P("data", None, None))
    frequencies = 10000.0 ** (-jnp.arange(0, shape.head, 2) / shape.head)
    angles = jnp.arange(inputs.shape[1])[:, None] * frequencies

    def layer(x, weights):
        x = jax.lax.with_sharding_constraint(x, batch)
        return _layer(x, weights, angles, dtype), None

    embed = parameters["embed"]
    x = embed.astype(dtype)[inputs]
    x, _ = jax.lax.scan(jax.checkpoint(layer) if remat else layer, x, parameters["layers"])
    x = _rms_norm(x, parameters["norm"])
    logits = jnp.einsum("bld,vd->blv", x, embed.astype(dtype)).astype(jnp.float32)
    logits = jax.lax.with_sharding_constraint(logits, NamedSharding(mesh, P("data", None, "model")))
    chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)
