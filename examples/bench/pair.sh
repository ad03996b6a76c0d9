#!/bin/sh
# Stands in for a benchmark of two nodes, so that a hunt can be tried without a cluster: prints a table as nccl-tests
# does. Whatever n3 takes part in is a fifth slower.
#
#   pair.sh FIRST SECOND
case " $1 $2 " in *" n3 "*) rate=19.2 time=13981.0 ;; *) rate=24.0 time=11184.8 ;; esac
cat <<END
# nThread 1 nGpus 1 minBytes 268435456 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid      1 on $1 device  0 [0x0f] example
#  Rank  1 Group  0 Pid      2 on $2 device  0 [0x0f] example
   268435456      67108864     float     sum      -1 $time $rate $rate      0 $time $rate $rate      0
# Out of bounds values : 0 OK
END
