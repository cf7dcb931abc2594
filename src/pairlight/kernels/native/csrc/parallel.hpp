// Independent tasks on several threads. The result of a task does not depend on the thread that runs it.
#pragma once
#include <stdint.h>

namespace pairlight {

// Calls run(self, task) for task = tasks - 1 down to 0 (the longest tasks have the highest numbers), on at most this
// number of threads: those of OpenMP if it is loaded in this process, otherwise new ones for this call.
void parallel(int64_t tasks, int64_t threads, void (*run)(void *self, int64_t task), void *self);

}  // namespace pairlight
