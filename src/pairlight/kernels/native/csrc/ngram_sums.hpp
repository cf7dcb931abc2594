// The vectors of all n-grams of texts, as sums of parts that depend on one word each, and their gradients.
//
//   y[t, n] = relu(sum over j < n of p[at[t + j], n, j]),   n = 1 .. grams
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in ngram_sums.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct NgramSums {
  const T *p;         // [words, grams (grams + 1) / 2, filters], ordered by n, then j
  const int64_t *at;  // [texts, length]; the word at each position, or -1 for none
  int64_t words, texts, length, grams, filters, threads;
  T *y;          // [texts, length, grams, filters]; 0 where there is no word
  const T *d_y;  // the same shape
  T *d_p;        // the shape of p
};

template <class T>
class NgramSumsRun {
 public:
  static int forward(const NgramSums<T> &call) { return run(call, forward_part); }
  static int backward(const NgramSums<T> &call) { return run(call, backward_part); }

 private:
  typedef Vector<T> V;
  // A task computes some filters of one n for all texts, so that these columns of p stay in the cache.
  static constexpr int L = LANES<T>, VECTORS = 256 / BYTES, WIDTH = VECTORS * L;

  static int run(const NgramSums<T> &call, void (*of_part)(void *, int64_t)) {
    pairlight::parallel(call.grams * parts(call), call.threads, of_part, (void *)&call);
    return 0;
  }

  static int64_t parts(const NgramSums<T> &call) { return (call.filters + WIDTH - 1) / WIDTH; }

  struct Part {
    Part(const NgramSums<T> &call, int64_t task)
        : n(task / parts(call) + 1),
          count(int(call.filters - task % parts(call) * WIDTH)),
          in_p((n - 1) * n / 2 * call.filters + task % parts(call) * WIDTH),
          in_y((n - 1) * call.filters + task % parts(call) * WIDTH),
          by_word(call.grams * (call.grams + 1) / 2 * call.filters),
          by_position(call.grams * call.filters) {}
    const int64_t n;
    const int count;  // the filters that are left, possibly more than WIDTH
    const int64_t in_p, in_y, by_word, by_position;
  };

  static void forward_part(void *call_, int64_t task) {
    const NgramSums<T> &call = *(const NgramSums<T> *)call_;
    const Part part(call, task);
    T *y = call.y + part.in_y;
    for (int64_t text = 0; text < call.texts; text++) {
      const int64_t *at = call.at + text * call.length;
      for (int64_t t = 0; t < call.length; t++, y += part.by_position) {
        V sums[VECTORS] = {};
        const int64_t n = at[t] < 0 ? 0 : call.length - t < part.n ? call.length - t : part.n;
        for (int64_t j = 0; j < n; j++) {
          if (at[t + j] < 0) continue;
          const T *p = call.p + at[t + j] * part.by_word + part.in_p + j * call.filters;
#pragma GCC unroll 16
          for (int w = 0; w < VECTORS; w++) sums[w] += read_lanes(p + w * L, part.count - w * L);
        }
#pragma GCC unroll 16
        for (int w = 0; w < VECTORS; w++) write_lanes(y + w * L, larger(V{}, sums[w]), part.count - w * L);
      }
    }
  }

  static void backward_part(void *call_, int64_t task) {
    const NgramSums<T> &call = *(const NgramSums<T> *)call_;
    const Part part(call, task);
    const int width = least(part.count, WIDTH);
    for (int64_t word = 0; word < call.words; word++)
      for (int64_t j = 0; j < part.n; j++)
        memset((void *)(call.d_p + word * part.by_word + part.in_p + j * call.filters), 0, width * sizeof(T));
    const T *y = call.y + part.in_y, *d_y = call.d_y + part.in_y;
    for (int64_t text = 0; text < call.texts; text++) {
      const int64_t *at = call.at + text * call.length;
      for (int64_t t = 0; t < call.length; t++, y += part.by_position, d_y += part.by_position) {
        if (at[t] < 0) continue;
        V d[VECTORS];
#pragma GCC unroll 16
        for (int w = 0; w < VECTORS; w++)
          d[w] = read_lanes(y + w * L, part.count - w * L) <= V{} ? V{} : read_lanes(d_y + w * L, part.count - w * L);
        const int64_t n = call.length - t < part.n ? call.length - t : part.n;
        for (int64_t j = 0; j < n; j++) {
          if (at[t + j] < 0) continue;
          T *to = call.d_p + at[t + j] * part.by_word + part.in_p + j * call.filters;
#pragma GCC unroll 16
          for (int w = 0; w < VECTORS; w++)
            write_lanes(to + w * L, read_lanes(to + w * L, part.count - w * L) + d[w], part.count - w * L);
        }
      }
    }
  }
};

}  // namespace PAIRLIGHT_WIDTH
