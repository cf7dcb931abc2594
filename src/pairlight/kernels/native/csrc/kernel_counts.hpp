// Soft counts of the similarities of each row of a grid: sums of Gaussian kernels, and their gradients.
//
//   counts[i, k] = sum over j of b[j] exp(-(x[i, j] - mu[k])² / 2 sigma[k]²),   x[i, j] = s[i, j] p[i] q[j]
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in kernel_counts.py, 8 bytes each.
template <class T>
struct KernelCounts {
  const T *s;  // [B, M, N, L, R]; M · N channels
  int64_t s_pair, s_m, s_n, s_row, s_column;
  const T *p;  // [B, M, L] a factor of each row, or null
  const T *q;  // [B, N, R] a factor of each column, or null; p and q are given together
  const T *b;  // [B, R] weights of the columns
  const int64_t *left, *right;  // [B] lengths
  const T *mu, *sigma;          // [K]
  int64_t pairs, m, n, rows, columns, kernels, threads;
  T *counts;          // [B, M, N, L, K]; 0 after the end of a text
  const T *d_counts;  // [B, M, N, L, K]
  T *d_s;             // [B, M, N, L, R] with the strides of s; 0 after the end of a text
  T *d_b;             // [B, R]
  T *d_p, *d_q;       // [B, M, L], [B, N, R] the sums of x d_x over a row and over a column, or null
};

template <class T>
class KernelCountsRun {
 public:
  static int forward(const KernelCounts<T> &call) { return run(call, forward_pair); }
  static int backward(const KernelCounts<T> &call) { return run(call, backward_pair); }

  const KernelCounts<T> &call;
  const T *power, *slope;  // [K] exponents are powers of two of power · (x - mu)², with derivative slope · (x - mu)
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>;

  static int run(const KernelCounts<T> &call, void (*of_pair)(void *, int64_t)) {
    Buffer<T> power(call.kernels), slope(call.kernels);
    if (!power || !slope) return 1;
    for (int64_t k = 0; k < call.kernels; k++) {
      slope[k] = T(-1) / (call.sigma[k] * call.sigma[k]);
      power[k] = slope[k] * T(0.5) * LOG2_E<T>;
    }
    KernelCountsRun self{call, power, slope, 0};
    pairlight::parallel(call.pairs, call.threads, of_pair, &self);
    return self.failed;
  }

  // exp(-d² / 2 sigma²). Below 2^-BOUND it is not exact, but far below any count that matters.
  static INLINE V near(V d, V power) { return power_of_two(larger(all(-BOUND<T>), d * d * power)); }

  // n numbers in vectors, followed by zeros.
  static void load(const T *from, int64_t step, int n, V *to) {
    T *numbers = (T *)to;
    if (step == 1) {
      memcpy((void *)numbers, from, n * sizeof(T));
    } else {
      for (int j = 0; j < n; j++) numbers[j] = from[j * step];
    }
    for (int j = n; j < padded(n, L); j++) numbers[j] = 0;
  }

  // The inverse, with zeros up to the last column.
  static void store(const V *from, int n, int columns, int64_t step, T *to) {
    const T *numbers = (const T *)from;
    for (int j = 0; j < n; j++) to[j * step] = numbers[j];
    for (int j = n; j < columns; j++) to[j * step] = 0;
  }

  // The similarities of a row, multiplied by their factors.
  void load_row(int64_t pair, int64_t m, int64_t n, int i, int columns, const V *q, V *x) const {
    load(call.s + pair * call.s_pair + m * call.s_m + n * call.s_n + i * call.s_row, call.s_column, columns, x);
    if (!call.p) return;
    const V p = all(call.p[(pair * call.m + m) * call.rows + i]);
    for (int w = 0; w < padded(columns, L) / L; w++) x[w] *= p * q[w];
  }

  static void forward_pair(void *self_, int64_t pair) {
    KernelCountsRun &self = *(KernelCountsRun *)self_;
    const KernelCounts<T> &call = self.call;
    const int K = int(call.kernels), high = int(call.left[pair]), columns = int(call.right[pair]);
    const int wide = padded(columns, L) / L;
    Buffer<V> b(wide), q(wide), x(wide), sums(padded(K, L));
    if (!b || !q || !x || !sums) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    load(call.b + pair * call.columns, 1, columns, b);
    for (int64_t m = 0; m < call.m; m++)
      for (int64_t n = 0; n < call.n; n++) {
        if (call.q) load(call.q + (pair * call.n + n) * call.columns, 1, columns, q);
        T *counts = call.counts + ((pair * call.m + m) * call.n + n) * call.rows * K;
        for (int i = 0; i < high; i++, counts += K) {
          self.load_row(pair, m, n, i, columns, q, x);
          for (int k = 0; k < K; k++) {
            const V mu = all(call.mu[k]), power = all(self.power[k]);
            V total = {};
            for (int w = 0; w < wide; w++) total += b[w] * near(x[w] - mu, power);
            sums[k] = total;
          }
          self.add_lanes(sums, K, counts);
        }
        memset((void *)counts, 0, (call.rows - high) * K * sizeof(T));
      }
  }

  // to[k] = the sum over the lanes of sums[k].
  static void add_lanes(const V *sums, int K, T *to) {
    for (int k = 0; k < K; k += L) {
      V a[L];
      for (int l = 0; l < L; l++) a[l] = sums[k + l];
      transpose<T>(a);
#pragma GCC unroll 4
      for (int half = L / 2; half > 0; half /= 2)
#pragma GCC unroll 16
        for (int l = 0; l < half; l++) a[l] += a[l + half];
      if (k + L <= K)
        memcpy((void *)(to + k), &a[0], BYTES);
      else
        for (int l = 0; k + l < K; l++) to[k + l] = a[0][l];
    }
  }

  // The kernels with a gradient in this row; most rows have several without any.
  struct Active {
    T *scale, *mu, *power, *slope;
    int count;
  };

  static void backward_pair(void *self_, int64_t pair) {
    KernelCountsRun &self = *(KernelCountsRun *)self_;
    const KernelCounts<T> &call = self.call;
    const int K = int(call.kernels), high = int(call.left[pair]), columns = int(call.right[pair]);
    const int wide = padded(columns, L) / L;
    Buffer<V> b(wide), q(call.n * wide), x(wide), d_b(wide), d_q(call.n * wide);
    Buffer<T> kernels(4 * K);
    if (!b || !q || !x || !d_b || !d_q || !kernels) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    Active active{kernels, kernels + K, kernels + 2 * K, kernels + 3 * K, 0};
    load(call.b + pair * call.columns, 1, columns, b);
    for (int64_t n = 0; n < call.n && call.q; n++)
      load(call.q + (pair * call.n + n) * call.columns, 1, columns, q + n * wide);
    for (int64_t m = 0; m < call.m; m++)
      for (int i = 0; i < call.rows; i++) {
        V of_row = {};
        for (int64_t n = 0; n < call.n; n++) {
          T *d_s = call.d_s + pair * call.s_pair + m * call.s_m + n * call.s_n + i * call.s_row;
          const T *d = call.d_counts + (((pair * call.m + m) * call.n + n) * call.rows + i) * K;
          if (i >= high || !self.choose(d, active)) {
            store(x, 0, int(call.columns), call.s_column, d_s);
            continue;
          }
          self.load_row(pair, m, n, i, columns, q + n * wide, x);
          const V p = all(call.p ? call.p[(pair * call.m + m) * call.rows + i] : T(1));
          for (int w = 0; w < wide; w++) {
            V d_x = {}, weight = {};
            for (int k = 0; k < active.count; k++) {
              const V far = x[w] - all(active.mu[k]);
              const V part = all(active.scale[k]) * near(far, all(active.power[k]));
              weight += part;
              d_x += part * (all(active.slope[k]) * far);
            }
            d_b[w] += weight;
            d_x *= b[w];
            if (call.p) {
              of_row += d_x * x[w];
              d_q[n * wide + w] += d_x * x[w];
              d_x *= p * q[n * wide + w];
            }
            x[w] = d_x;
          }
          store(x, columns, int(call.columns), call.s_column, d_s);
        }
        if (call.d_p) call.d_p[(pair * call.m + m) * call.rows + i] = sum<T>(of_row);
      }
    store(d_b, columns, int(call.columns), 1, call.d_b + pair * call.columns);
    for (int64_t n = 0; n < call.n && call.d_q; n++)
      store(d_q + n * wide, columns, int(call.columns), 1, call.d_q + (pair * call.n + n) * call.columns);
  }

  bool choose(const T *d, Active &active) const {
    active.count = 0;
    for (int k = 0; k < call.kernels; k++)
      if (d[k] != 0) {
        const int at = active.count++;
        active.scale[at] = d[k], active.mu[at] = call.mu[k];
        active.power[at] = power[k], active.slope[at] = slope[k];
      }
    return active.count;
  }
};

}  // namespace PAIRLIGHT_WIDTH
