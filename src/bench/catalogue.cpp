#include "bench/catalogue.h"

namespace muster::bench {

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> kBenchmarks = {
      {"deepep", "DeepEP's and UCCL-EP's dispatch and combine", "dispatch, combine",
       "test_intranode, test_internode, test_low_latency logs", "GB/s of 10^9 bytes, us",
       "by its [testing] lines, which must all say passed"},
      {"imb", "Intel MPI Benchmarks", "MPI point to point and collectives", "IMB-MPI1 tables",
       "us; Mbytes of 2^20 or 10^6 bytes, told from each row", "when built with -DCHECK"},
      {"muster-bench", "The native benchmarks",
       "collectives, one-sided operations, expert-parallel dispatch and combine",
       "tables, JSON (-J)", "us, GB/s of 10^9 bytes", "unless -c 0"},
      {"nccl-tests", "NVIDIA's collective tests",
       "all_reduce, all_gather, reduce_scatter, alltoall(v), broadcast, reduce, gather, scatter, "
       "sendrecv, hypercube",
       "tables of all releases, JSON (-J)", "us, GB/s of 10^9 bytes", "unless -c 0"},
      {"nccom-test", "Neuron's collective test",
       "all_reduce, all_gather, reduce_scatter, sendrecv, alltoall", "tables",
       "us, GB/s of 2^30 bytes", "not told by its table"},
      {"nvbandwidth", "NVIDIA's copies between host and devices", "copies by pair, latency",
       "text, JSON", "GB/s of 10^9 bytes, ns", "unless --skipVerification"},
      {"nvshmem", "NVSHMEM's perftests", "put, get, atomics, collectives",
       "tables, &&&& PERF lines", "us, GB/s of 10^9 bytes", "never"},
      {"osu", "OSU micro-benchmarks", "MPI and OpenSHMEM point to point, one-sided, collectives",
       "tables", "us, MB/s of 10^6 bytes", "with -c"},
      {"perftest", "linux-rdma's verbs tests", "send, write, read, atomic: bandwidth and latency",
       "tables, JSON (--out_json)", "MB/s of 2^20 bytes or Gb/s, us", "never"},
      {"pplx-garden", "Perplexity's point-to-point dispatch and combine", "dispatch, combine",
       "JSON of percentiles", "us", "with --check, not told by its output"},
      {"pplx-kernels", "Perplexity's NVSHMEM dispatch and combine",
       "dispatch, combine, torch's and NVSHMEM's alltoall", "TSV", "us, GB/s of 10^9 bytes",
       "never"},
      {"rccl-tests", "AMD's collective tests", "as nccl-tests", "tables, JSON (-Z json)",
       "us, GB/s of 10^9 bytes", "unless -c 0"},
  };
  return kBenchmarks;
}

nlohmann::ordered_json to_json(const Benchmark& benchmark) {
  return {{"name", benchmark.name},         {"description", benchmark.description},
          {"measures", benchmark.measures}, {"forms", benchmark.forms},
          {"units", benchmark.units},       {"checks", benchmark.checks}};
}

}  // namespace muster::bench
