#!/bin/bash
# A host's /sys with EFA devices and all counters of driver r3.1.0, for the exporter's benchmark and tests.
#
#   exporter_tree.sh DIR DEVICES
set -euo pipefail
dir=$1 devices=$2
port='tx_bytes rx_bytes tx_pkts rx_pkts rx_drops send_bytes send_wrs recv_bytes recv_wrs rdma_read_wrs rdma_read_bytes rdma_read_wr_err
rdma_read_resp_bytes rdma_write_wrs rdma_write_bytes rdma_write_wr_err rdma_write_recv_bytes retrans_bytes retrans_pkts
retrans_timeout_events unresponsive_remote_events impaired_remote_conn_events'
device='submitted_cmds completed_cmds no_completion_cmds cmds_err keep_alive_rcvd alloc_pd_err create_qp_err create_cq_err reg_mr_err
alloc_mr_err get_dma_mr_err alloc_ucontext_err create_ah_err mmap_err'
for ((i = 0; i < devices; ++i)); do
  at=$dir/sys/class/infiniband/rdmap${i}s0
  mkdir -p "$at/ports/1/hw_counters" "$at/ports/1/counters" "$at/hw_counters"
  echo efa >"$at/hca_type"
  echo '1.0' >"$at/fw_ver"
  echo '0xefa1' >"$at/board_id"
  echo '4: ACTIVE' >"$at/ports/1/state"
  echo '5: LinkUp' >"$at/ports/1/phys_state"
  echo '100 Gb/sec (4X EDR)' >"$at/ports/1/rate"
  echo 10 >"$at/ports/1/hw_counters/lifespan"
  value=1000000
  for name in $port; do echo $((value++)) >"$at/ports/1/hw_counters/$name"; done
  for name in $device; do echo $((value++)) >"$at/hw_counters/$name"; done
  for name in port_rcv_data port_xmit_data port_rcv_packets port_xmit_packets; do echo $((value++)) >"$at/ports/1/counters/$name"; done
done
