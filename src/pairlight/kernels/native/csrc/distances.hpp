// The squared distances of all vectors of a left text from all vectors of a right text.
#pragma once
#include "parallel.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in distances.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct Distances {
  const T *u, *v;  // [pairs, m, D], [pairs, n, D]
  int64_t pairs, m, n, dim, threads;
  T *y;  // [pairs, m, n]
};

template <class T>
class DistancesRun {
 public:
  static int run(const Distances<T> &call) {
    DistancesRun self{call, 0};
    pairlight::parallel(call.pairs, call.threads, pair, &self);
    return self.failed;
  }

  const Distances<T> &call;
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>, HEIGHT = BYTES == 64 ? 8 : 4, WIDTH = 2;

  static void pair(void *self_, int64_t number) {
    DistancesRun &self = *(DistancesRun *)self_;
    const Distances<T> &call = self.call;
    const int m = int(call.m), n = int(call.n), dim = int(call.dim), wide = padded(n, L) / L;
    Buffer<V> words(int64_t(wide) * dim + WIDTH);  // the last tile may extend beyond the words
    if (!words) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    in_lanes(call.v + number * n * dim, dim, n, dim, (V *)words);
    const T *u = call.u + number * m * dim;
    for (int i = 0; i < m; i += HEIGHT)
      for (int w = 0; w < wide; w += WIDTH) {
        const T *rows[HEIGHT];
        for (int a = 0; a < HEIGHT; a++) rows[a] = u + int64_t(least(i + a, m - 1)) * dim;
        V sums[HEIGHT][WIDTH] = {};
        add(rows, dim, words + w, wide, sums);
        for (int a = 0; a < HEIGHT && i + a < m; a++) {
          const int count = least(WIDTH * L, n - w * L);
          memcpy(call.y + (number * m + i + a) * n + w * L, sums[a], count * sizeof(T));
        }
      }
  }

  static INLINE void add(const T *const *rows, int dim, const V *words, int wide, V (*sums)[WIDTH]) {
    for (int d = 0; d < dim; d++, words += wide)
#pragma GCC unroll 8
      for (int a = 0; a < HEIGHT; a++) {
        const V value = all(rows[a][d]);
#pragma GCC unroll 2
        for (int w = 0; w < WIDTH; w++) {
          const V difference = value - words[w];
          sums[a][w] += difference * difference;
        }
      }
  }
};

}  // namespace PAIRLIGHT_WIDTH
