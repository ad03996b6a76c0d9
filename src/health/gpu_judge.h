// One judge of GPUs for all forms in which nvidia-smi tells of them. Internal to the gpu check.
#pragma once

#include <string>
#include <vector>

#include "health/check.h"
#include "health/host.h"
#include "health/smi.h"

namespace muster::health {

/// The state of one GPU; `number` is its place in the output.
void judge_gpu(const SmiGpu& one, int number, const Text& text, const Host& host,
               CheckResult& check);

/// How many there are against how many there should be.
void judge_gpu_count(std::size_t seen, const Text& text, int line, const Host& host,
                     const std::string& source, CheckResult& check);

/// `--query-gpu=… --format=csv`: a line of titles, then a line for each GPU. False: it is not that.
bool read_gpu_csv(const Text& text, const std::vector<Line>& stream, const Host& host,
                  CheckResult& check);

/// `-L`: names only. False: it is not that.
bool read_gpu_list(const Text& text, const std::vector<Line>& stream, const Host& host,
                   CheckResult& check);

}  // namespace muster::health
