// What mpirun and srun say on standard error when a rank dies, as one sentence that names it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::launch {

/// Sentences such as "rank 1 on n2 was ended by signal 9 (Killed)", worst first, at most four,
/// joined by "; ". Empty when the text has none of the known messages: then the last line that is
/// not blank, if any, is the best there is.
std::string explain_launcher(std::string_view standard_error);

/// "signal 9 (Killed)".
std::string signal_words(int signal);

}  // namespace muster::launch
