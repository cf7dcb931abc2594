// Gradients of one direction of an LSTM: back through time by blocks of texts, then the weights from all words.
#pragma once
#include "lstm.hpp"

namespace PAIRLIGHT_WIDTH {

template <class T>
class LstmBackward {
 public:
  static int run(const Lstm<T> &call) {
    const int E = int(call.inputs), H = int(call.hidden), K = E + H;
    Buffer<T> back(int64_t(padded(K, ROWS)) * 4 * H);
    Buffer<int64_t> first(call.texts + 1);
    if (!back || !first) return 1;
    pack<T>(call.weight, 1, K, K, 4 * H, nullptr, back);
    for (int64_t b = 0; b < call.texts; b++) first[b + 1] = first[b] + call.lengths[b];
    const int stride = padded(4 * H, SLAB);
    Buffer<T> d_sums(first[call.texts] * stride);
    if (!d_sums) return 1;
    LstmBackward self{call, back, first, d_sums, E, H, stride, 0};
    pairlight::parallel((call.texts + LANES<T> - 1) / LANES<T>, call.threads, block, &self);
    pairlight::parallel(stride / SLAB, call.threads, slab, &self);
    return self.failed;
  }

  const Lstm<T> &call;
  const T *back;
  const int64_t *first;  // [B + 1] the first row of each text in d_sums
  T *d_sums;             // [words, stride] gradients of the sums before the gates
  int E, H, stride;
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int SLAB = 2 * LANES<T>, DEEP = 6;  // a register tile of the weights' gradient
  static constexpr int64_t AT_ONCE = 256;              // words whose gradients stay in the first cache meanwhile

  void fail() { __atomic_store_n(&failed, 1, __ATOMIC_RELAXED); }

  static void block(void *self_, int64_t index) {
    LstmBackward &self = *(LstmBackward *)self_;
    const Lstm<T> &call = self.call;
    const int E = self.E, H = self.H;
    const V one = all(T(1));
    TextBlock<T> block(call, index);
    Buffer<V> d_x(padded(E + H, ROWS)), d_c(H), d_out(H), d_sums(4 * H), zero(H);
    if (!d_x || !d_c || !d_out || !d_sums || !zero) return self.fail();
    const V *gates = (const V *)(call.gates + call.place[index]), *d_h = d_x + E;
    for (int step = block.steps - 1; step >= 0; step--) {
      const T *d_out_rows[LANES<T>];
      block.rows(call.d_out, call.d_out_text, call.d_out_word, step, H, d_out_rows);
      gather<T>(d_out_rows, block.count, H, 1, d_out, 1);
      const V *g = gates + int64_t(step) * 5 * H, *before = step ? g - H : (const V *)zero;
      for (int k = 0; k < H; k++) {
        const V i = g[k], f = g[H + k], fresh = g[2 * H + k], o = g[3 * H + k], t = hyperbolic_tangent(g[4 * H + k]);
        const V d = d_h[k] + d_out[k];
        const V d_cell = d_c[k] + d * o * (one - t * t);
        d_sums[k] = d_cell * fresh * i * (one - i);
        d_sums[H + k] = d_cell * before[k] * f * (one - f);
        d_sums[2 * H + k] = d_cell * i * (one - fresh * fresh);
        d_sums[3 * H + k] = d * t * o * (one - o);
        d_c[k] = d_cell * f;
      }
      self.write_sums(block, step, d_sums);
      product<T>(self.back, E + H, 4 * H, d_sums, d_x);
      T *d_x_rows[LANES<T>];
      block.rows(call.d_x, call.d_x_text, call.d_x_word, step, E, d_x_rows);
      scatter<T, true>(d_x, 1, E, d_x_rows, block.count, 1);
    }
  }

  void write_sums(TextBlock<T> &block, int step, const V *sums) const {
    T *row[LANES<T>];
    block.rows(d_sums, 0, stride, step, 4 * H, row);
    for (int l = 0; l < LANES<T>; l++)
      if (block.count[l]) row[l] += first[block.text[l]] * stride;
    scatter<T>(sums, 1, 4 * H, row, block.count, 1);
  }

  // The gradients of SLAB rows of the weights; every slab adds up all words in the same order.
  static void slab(void *self_, int64_t index) {
    LstmBackward &self = *(LstmBackward *)self_;
    const Lstm<T> &call = self.call;
    const int E = self.E, H = self.H;
    Buffer<T> sums(int64_t(padded(E, DEEP) + padded(H, DEEP) + 1) * SLAB);
    if (!sums) return self.fail();
    T *of_x = sums, *of_h = of_x + padded(E, DEEP) * SLAB, *of_bias = of_h + padded(H, DEEP) * SLAB;
    for (int64_t from = 0, to; from < call.texts; from = to) {
      for (to = from + 1; to < call.texts && self.first[to] - self.first[from] < AT_ONCE;) to++;
      self.add(index, from, to, call.x, call.x_text, call.x_word, 0, E, of_x);
      self.add(index, from, to, call.out, call.out_text, call.out_word, call.reverse ? -1 : 1, H, of_h);
      for (int64_t row = self.first[from]; row < self.first[to]; row++)
        for (int q = 0; q < SLAB; q++) of_bias[q] += self.d_sums[row * self.stride + index * SLAB + q];
    }
    for (int q = 0, o = int(index) * SLAB; q < SLAB && o < 4 * H; q++, o++) {
      T *weight = call.d_weight + int64_t(o) * (E + H);
      for (int k = 0; k < E; k++) weight[k] = of_x[k * SLAB + q];
      for (int k = 0; k < H; k++) weight[E + k] = of_h[k * SLAB + q];
      call.d_bias[o] = of_bias[q];
    }
  }

  // sums[k] += the sum over the words of texts from..to of column k of `z`, taken `shift` words before, times the slab.
  void add(int64_t slab, int64_t from, int64_t to, const T *z, int64_t by_text, int64_t by_word, int shift, int columns,
           T *sums) const {
    for (int k = 0; k < columns; k += DEEP, sums += DEEP * SLAB) {
      V tile[DEEP][2];
      memcpy((void *)tile, sums, sizeof tile);
      int column[DEEP];
      for (int r = 0; r < DEEP; r++) column[r] = least(k + r, columns - 1);
      for (int64_t b = from; b < to; b++) {
        const int length = int(call.lengths[b]);
        for (int t = greatest(0, shift); t < length + least(0, shift); t++) {
          const V *d = (const V *)(d_sums + (first[b] + t) * stride + slab * SLAB);
          const V d0 = d[0], d1 = d[1];
          const T *row = z + b * by_text + (t - shift) * by_word;
#pragma GCC unroll 8
          for (int r = 0; r < DEEP; r++) {
            const V value = all(row[column[r]]);
            tile[r][0] += value * d0;
            tile[r][1] += value * d1;
          }
        }
      }
      memcpy(sums, (void *)tile, sizeof tile);
    }
  }
};

}  // namespace PAIRLIGHT_WIDTH
