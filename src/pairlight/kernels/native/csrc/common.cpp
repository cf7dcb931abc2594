// Code that is compiled once for all SIMD widths: threads, and the detection of the widths that this CPU supports.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "parallel.hpp"

namespace pairlight {

// The entry point of OpenMP, if it is loaded in this process: then the kernels run on the threads of PyTorch, which
// would otherwise occupy the cores by busy waiting for their next operation.
typedef void (*Team)(void (*)(void *), void *, unsigned threads, unsigned flags);
static const Team team = (Team)dlsym(RTLD_DEFAULT, "GOMP_parallel");
static const pid_t home = getpid();  // a forked process does not have the threads of the team

void parallel(int64_t tasks, int64_t threads, void (*run)(void *, int64_t), void *self) {
  std::atomic<int64_t> left(tasks);
  auto work = [&] {
    for (int64_t task = --left; task >= 0; task = --left) run(self, task);
  };
  const int64_t many = threads < tasks ? threads : tasks;
  if (many > 1 && team && getpid() == home)
    return team([](void *work_) { (*(decltype(work) *)work_)(); }, &work, unsigned(many), 0);
  std::vector<std::thread> helpers;
  try {
    for (int64_t n = 1; n < many; n++) helpers.emplace_back(work);
  } catch (const std::exception &) {
    // No more threads can be created: the existing ones do the work.
  }
  work();
  for (std::thread &helper : helpers) helper.join();
}

}  // namespace pairlight

extern "C" {

// The hash of the sources from which this library was compiled.
const char *pairlight_fingerprint() { return PAIRLIGHT_FINGERPRINT; }

int pairlight_cpu_has_avx512() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw");
#else
  return 0;
#endif
}

int pairlight_cpu_has_avx2() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return 0;
#endif
}
}
