// Matrix products c = a b + bias, or c += a b, of a batch of matrices with any strides.
//
// PyTorch's own library uses half the width of AVX-512 on some CPUs that have it.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in matmul.py, 8 bytes each.
template <class T>
struct MatMul {
  const T *a;  // [batch, m, k]; one of the strides of the last two axes is 1, and so for b
  int64_t a_batch, a_row, a_column;
  const T *b;  // [batch, k, n]
  int64_t b_batch, b_row, b_column;
  T *c;  // [batch, m, n], the last axis contiguous
  int64_t c_batch, c_row;
  const T *bias;  // [n] or null
  int64_t batch, m, k, n, add, threads;
};

template <class T>
class MatMulRun {
 public:
  static int run(const MatMul<T> &call) {
    MatMulRun self{call, (call.m + HIGH - 1) / HIGH, (call.n + COLUMNS - 1) / COLUMNS, 0};
    pairlight::parallel(call.batch * self.high * self.wide, call.threads, block, &self);
    return self.failed;
  }

  const MatMul<T> &call;
  int64_t high, wide;  // blocks of c in each direction
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>;
  static constexpr int HEIGHT = L < 4 ? 2 : 3 * L / 4;  // a register tile of c: HEIGHT rows, two vectors wide
  // A block of c, and the terms that are added to it at a time, so that the packed parts of a and b stay in the cache.
  static constexpr int HIGH = HEIGHT * (240 / HEIGHT), COLUMNS = 320, DEEP = 256;

  static void block(void *self_, int64_t task) {
    MatMulRun &self = *(MatMulRun *)self_;
    const MatMul<T> &call = self.call;
    const int64_t batch = task / (self.high * self.wide), i = task / self.wide % self.high * HIGH,
                  j = task % self.wide * COLUMNS;
    const int m = size(call.m - i, HIGH), n = size(call.n - j, COLUMNS), deepest = size(call.k, DEEP);
    const bool direct = call.a_column == 1;  // a row can be read as it is
    Buffer<V> a(direct ? 0 : int64_t(padded(m, HEIGHT) / HEIGHT) * deepest, false);
    Buffer<V> b(int64_t(padded(n, L) / L) * deepest, false);
    if (!a || !b) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    const T *from_a = call.a + batch * call.a_batch + i * call.a_row;
    const T *from_b = call.b + batch * call.b_batch + j * call.b_column;
    T *c = call.c + batch * call.c_batch + i * call.c_row + j;
    for (int64_t k = 0; k < call.k || k == 0; k += DEEP) {
      const int deep = size(call.k - k, DEEP);
      if (!direct) pack<HEIGHT>(from_a + k * call.a_column, call.a_row, call.a_column, m, deep, a);
      pack<L>(from_b + k * call.b_row, call.b_column, call.b_row, n, deep, b);
      const T *bias = k || !call.bias ? nullptr : call.bias + j;
      for (int y = 0; y < n; y += 2 * L)
        for (int x = 0; x < m; x += HEIGHT) {
          const T *row = direct ? from_a + x * call.a_row + k : (const T *)(a + int64_t(x / HEIGHT) * deep);
          const Tile at{row, direct ? call.a_row : 1, b + int64_t(y / L) * deep, deep, least(HEIGHT, m - x), n - y,
                        bias ? bias + y : nullptr, k || call.add, c + x * call.c_row + y, call.c_row};
          if (direct)
            n - y > L ? tile<2, 1>(at) : tile<1, 1>(at);
          else
            n - y > L ? tile<2, L>(at) : tile<1, L>(at);
        }
    }
  }

  static int size(int64_t rest, int most) { return rest < most ? int(rest) : most; }

  // Panels of WIDTH lines, with a vector of the lines for each of k terms. What follows the last line is never used.
  template <int WIDTH>
  static void pack(const T *from, int64_t by_line, int64_t by_term, int lines, int k, V *to) {
    for (int first = 0; first < lines; first += WIDTH, to += k) {
      const int count = least(WIDTH, lines - first);
      const T *line[L];
      int terms[L];
      for (int l = 0; l < L; l++) line[l] = from + (l < count ? first + l : 0) * by_line, terms[l] = l < count ? k : 0;
      if (by_term == 1) {
        gather<T>(line, terms, k, 1, to, 1);
        continue;
      }
      for (int t = 0; t < k; t++) {
        const T *terms_of = line[0] + t * by_term;
        if (count == WIDTH)
          memcpy((void *)&to[t], terms_of, WIDTH * sizeof(T));
        else
          to[t] = read_lanes(terms_of, count);
      }
    }
  }

  struct Tile {
    const T *a;
    int64_t by_row;
    const V *b;
    int k, rows, columns;
    const T *bias;
    bool add;
    T *c;
    int64_t c_row;
  };

  // One tile of c, N vectors wide, of which `rows` and `columns` are written; STEP is the distance of the terms of a.
  template <int N, int STEP>
  static void tile(const Tile &at) {
    V sums[HEIGHT][N] = {};
    const T *row[HEIGHT];
    for (int r = 0; r < HEIGHT; r++) row[r] = at.a + least(r, STEP == 1 ? at.rows - 1 : r) * at.by_row;
    // The tile is fetched while its sums are computed.
#pragma GCC unroll 16
    for (int r = 0; r < HEIGHT; r++)
#pragma GCC unroll 2
      for (int w = 0; w < N; w++) __builtin_prefetch(at.c + least(r, at.rows - 1) * at.c_row + w * L, 1);
    const V *first = at.b, *second = at.b + (N - 1) * at.k;
    for (int64_t t = 0; t < at.k; t++) {
      const V left = first[t], right = second[t];
#pragma GCC unroll 16
      for (int r = 0; r < HEIGHT; r++) {
        const V x = all(row[r][t * STEP]);
        sums[r][0] += x * left;
        if (N > 1) sums[r][N - 1] += x * right;
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < HEIGHT; r++)
      if (r < at.rows)
#pragma GCC unroll 2
        for (int w = 0; w < N; w++) {
          T *to = at.c + r * at.c_row + w * L;
          const int count = at.columns - w * L;
          V total = sums[r][w];
          if (at.bias) total += read_lanes(at.bias + w * L, count);
          if (at.add) total += read_lanes(to, count);
          write_lanes(to, total, count);
        }
  }
};

}  // namespace PAIRLIGHT_WIDTH
