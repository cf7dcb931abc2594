// Code that is compiled once for all SIMD widths: threads, and the detection of the widths that this CPU supports.
#include <dlfcn.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
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

#if defined(__x86_64__)
// Bits first to last of a word.
static unsigned bits(unsigned word, int first, int last) { return word >> first & ((2u << (last - first)) - 1); }
#endif

struct Cpu {
  bool avx2 = false, avx512 = false;

  // By the instructions CPUID and XGETBV, since not every linker has __builtin_cpu_supports.
  Cpu() {
#if defined(__x86_64__)
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !bits(c, 27, 27)) return;  // the system saves vector registers
    const bool fma = bits(c, 12, 12), f16c = bits(c, 29, 29);
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (bits(low, 1, 2) != 3 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    avx2 = bits(b, 5, 5) && fma && f16c;
    // F, DQ, BW and VL, and the system saves the mask registers and all of the wide ones.
    avx512 = avx2 && bits(low, 5, 7) == 7 && bits(b, 16, 17) == 3 && bits(b, 30, 31) == 3;
#endif
  }
};

static const Cpu &cpu() {
  static const Cpu found;
  return found;
}

extern "C" {

// The hash of the sources from which this library was compiled.
const char *pairlight_fingerprint() { return PAIRLIGHT_FINGERPRINT; }

int pairlight_cpu_has_avx512() { return cpu().avx512; }

int pairlight_cpu_has_avx2() { return cpu().avx2; }
}
