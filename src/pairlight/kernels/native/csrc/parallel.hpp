// Independent tasks on several threads. Which thread runs a task never matters to its result.
#pragma once
#include <stdint.h>

namespace pairlight {

// Calls run(self, task) for task = tasks - 1 down to 0 (the kernels number the longest last), on at most so many
// threads: PyTorch's own where it has some, else ones that live for this call.
void parallel(int64_t tasks, int64_t threads, void (*run)(void *self, int64_t task), void *self);

}  // namespace pairlight
