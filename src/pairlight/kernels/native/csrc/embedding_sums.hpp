// Sums of rows of a table, such as the vectors of the n-grams of a word.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in embedding_sums.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct EmbeddingSums {
  const T *table;      // [rows, D]
  const int32_t *ids;  // [count, most]
  int64_t rows, dim, count, most, padding, threads;  // an id that equals `padding` adds nothing
  T *sums;             // [count, D]
};

template <class T>
class EmbeddingSumsRun {
 public:
  // Returns 2 if an id is not in the table.
  static int run(const EmbeddingSums<T> &call) {
    EmbeddingSumsRun self{call, 0};
    pairlight::parallel((call.count + TOGETHER - 1) / TOGETHER, call.threads, several, &self);
    return self.failed;
  }

  const EmbeddingSums<T> &call;
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>, VECTORS = 8, TOGETHER = 64;

  static void several(void *self_, int64_t task) {
    EmbeddingSumsRun &self = *(EmbeddingSumsRun *)self_;
    const EmbeddingSums<T> &call = self.call;
    Buffer<const T *> rows(call.most);
    if (!rows) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    const int64_t end = (task + 1) * TOGETHER < call.count ? (task + 1) * TOGETHER : call.count;
    for (int64_t at = task * TOGETHER; at < end; at++) {
      int64_t held = 0;
      for (int64_t n = 0; n < call.most; n++) {
        const int64_t id = call.ids[at * call.most + n];
        if (id == call.padding) continue;
        if (id < 0 || id >= call.rows) return __atomic_store_n(&self.failed, 2, __ATOMIC_RELAXED);
        rows[held++] = call.table + id * call.dim;
      }
      T *to = call.sums + at * call.dim;
      int64_t d = 0;
      for (; d + VECTORS * L <= call.dim; d += VECTORS * L) add<VECTORS>(rows, held, d, to);
      for (; d + L <= call.dim; d += L) add<1>(rows, held, d, to);
      for (; d < call.dim; d++) {
        T sum = 0;
        for (int64_t n = 0; n < held; n++) sum += rows[n][d];
        to[d] = sum;
      }
    }
  }

  template <int N>
  static INLINE void add(const T *const *rows, int64_t held, int64_t d, T *to) {
    V sums[N] = {};
    for (int64_t n = 0; n < held; n++)
#pragma GCC unroll 8
      for (int v = 0; v < N; v++) {
        V row;
        memcpy(&row, rows[n] + d + v * L, BYTES);
        sums[v] += row;
      }
    memcpy(to + d, sums, sizeof sums);
  }
};

}  // namespace PAIRLIGHT_WIDTH
