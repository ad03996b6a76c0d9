// How each check looks at a host. Internal to checks.cpp.
#pragma once

#include "health/check.h"
#include "health/host.h"
#include "health/view.h"

namespace muster::health {

void look_at_kernel_log(const HostView& view, const Host& host, CheckResult& check);
void look_at_gpu(const HostView& view, const Host& host, CheckResult& check);
void look_at_dcgm(const HostView& view, const Host& host, CheckResult& check);
void look_at_topology(const HostView& view, const Host& host, CheckResult& check);
void look_at_efa(const HostView& view, const Host& host, CheckResult& check);
void look_at_fabric(const HostView& view, const Host& host, CheckResult& check);
void look_at_slurm(const HostView& view, const Host& host, CheckResult& check);
void look_at_neuron(const HostView& view, const Host& host, CheckResult& check);
void look_at_limits(const HostView& view, const Host& host, CheckResult& check);

}  // namespace muster::health
