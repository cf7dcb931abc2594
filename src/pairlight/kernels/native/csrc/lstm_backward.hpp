// Gradients of one direction of an LSTM: backpropagation through time for each block of texts, then the weights.
#pragma once
#include "lstm.hpp"

namespace PAIRLIGHT_WIDTH {

template <class T>
class LstmBackward {
 public:
  static int run(const Lstm<T> &call) {
    const int E = int(call.inputs), H = int(call.hidden), K = E + H, stride = padded(4 * H, SLAB);
    const int skipped = call.d_x ? 0 : E;  // columns of the weights for which no gradient is needed
    // Weight gradients are summed within a fixed number of shares of the batch, then over the shares in order. The
    // order of all additions is therefore independent of the number of threads.
    const int64_t blocks = (call.texts + LANES<T> - 1) / LANES<T>, shares = blocks < 16 ? blocks : 16;
    Buffer<T> back(int64_t(padded(K - skipped, ROWS)) * 4 * H), sums(shares * (K + 1) * stride);
    if (!back || !sums) return 1;
    pack<T>(call.weight + skipped, 1, K, K - skipped, 4 * H, nullptr, back);
    LstmBackward self{call, back, sums, blocks, shares, E, H, skipped, stride, 0};
    pairlight::parallel(shares, call.threads, share, &self);
    const int64_t share_of = int64_t(K + 1) * stride;
    for (int64_t n = 1; n < shares; n++)
      for (int64_t at = 0; at < share_of; at++) sums[at] += sums[n * share_of + at];
    for (int o = 0; o < 4 * H && shares; o++) {
      const T *from = sums + int64_t(o / SLAB) * (K + 1) * SLAB + o % SLAB;
      for (int k = 0; k < K; k++) call.d_weight[int64_t(o) * K + k] += from[int64_t(k) * SLAB];
      call.d_bias[o] += from[int64_t(K) * SLAB];
    }
    return self.failed;
  }

  const Lstm<T> &call;
  const T *back;
  T *sums;  // [shares, slabs, E + H + 1, SLAB]
  int64_t blocks, shares;
  int E, H, skipped, stride;
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int SLAB = 2 * LANES<T>, DEEP = 6;  // a register tile of the gradient of the weights

  static void share(void *self_, int64_t index) {
    LstmBackward &self = *(LstmBackward *)self_;
    const int64_t first = index * self.blocks / self.shares, end = (index + 1) * self.blocks / self.shares;
    int words = 0;
    for (int64_t n = first; n < end; n++) {
      const TextBlock<T> block(self.call, n);
      int here = 0;
      for (int l = 0; l < LANES<T>; l++) here += block.length[l];
      words = greatest(words, here);
    }
    Buffer<T> d_sums(int64_t(words) * self.stride);  // [words of a block, stride], of the sums that enter the gates
    bool fits = d_sums;
    for (int64_t n = first; fits && n < end; n++) {
      TextBlock<T> block(self.call, n);
      fits = self.through_time(block, self.call.gates + self.call.place[n], d_sums);
      self.into_weights(block, d_sums, self.sums + index * (self.E + self.H + 1) * self.stride);
    }
    if (!fits) __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
  }

  bool through_time(TextBlock<T> &block, const T *gates, T *all_d_sums) const {
    const V one = all(T(1));
    Buffer<V> d_x(padded(E + H, ROWS)), d_c(H), d_out(H), d_sums(4 * H), zero(H);
    if (!d_x || !d_c || !d_out || !d_sums || !zero) return false;
    const V *d_h = d_x + E - skipped;
    for (int step = block.steps - 1; step >= 0; step--) {
      const T *d_out_rows[LANES<T>];
      block.rows(call.d_out, call.d_out_text, call.d_out_word, step, H, d_out_rows);
      gather<T>(d_out_rows, block.count, H, 1, d_out, 1);
      const V *g = (const V *)gates + int64_t(step) * 5 * H, *before = step ? g - H : (const V *)zero;
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
      T *row[LANES<T>];
      int64_t first = 0;
      for (int l = 0; l < LANES<T>; first += block.length[l++]) {
        block.count[l] = step < block.length[l] ? 4 * H : 0;
        row[l] = all_d_sums + (block.count[l] ? (first + block.word(l, step)) * stride : 0);
      }
      scatter<T>(d_sums, 1, 4 * H, row, block.count, 1);
      product<T>(back, E + H - skipped, 4 * H, d_sums, d_x);
      if (skipped) continue;
      block.rows(call.d_x, call.d_x_text, call.d_x_word, step, E, row);
      scatter<T, true>(d_x, 1, E, row, block.count, 1);
    }
    return true;
  }

  void into_weights(const TextBlock<T> &block, const T *d_sums, T *slab) const {
    for (int o = 0; o < stride; o += SLAB, slab += (E + H + 1) * SLAB) {
      V *to = (V *)slab;
      for (int k = 0; k < E; k += DEEP, to += 2 * DEEP)
        add_columns(E - k, block, d_sums + o, call.x + k, call.x_text, call.x_word, 0, to);
      to = (V *)slab + 2 * E;
      for (int k = 0; k < H; k += DEEP, to += 2 * DEEP)
        add_columns(H - k, block, d_sums + o, call.out + k, call.out_text, call.out_word, block.reverse ? -1 : 1, to);
      static const T one = 1;
      add_columns<1>(1, block, d_sums + o, &one, 0, 0, 0, (V *)slab + 2 * (E + H));
    }
  }

  // sums[r] += the sum over the words of the block of z[word - shift, r] times the slab of this word.
  template <int N = DEEP>
  void add_columns(int columns, const TextBlock<T> &block, const T *d, const T *z, int64_t by_text, int64_t by_word,
                   int shift, V *sums) const {
    if constexpr (N > 1)
      if (columns < N) return add_columns<N - 1>(columns, block, d, z, by_text, by_word, shift, sums);
    V tile[N][2];
#pragma GCC unroll 8
    for (int r = 0; r < N; r++) tile[r][0] = sums[2 * r], tile[r][1] = sums[2 * r + 1];
    for (int l = 0; l < LANES<T>; d += int64_t(block.length[l++]) * stride) {
      const int begin = greatest(0, shift), end = block.length[l] + least(0, shift);
      const T *row = z + block.text[l] * by_text + (begin - shift) * by_word;
      const T *at = d + int64_t(begin) * stride;
      for (int t = begin; t < end; t++, row += by_word, at += stride) {
        const V first = ((const V *)at)[0], second = ((const V *)at)[1];
#pragma GCC unroll 8
        for (int r = 0; r < N; r++) {
          const V value = all(row[r]);
          tile[r][0] += value * first;
          tile[r][1] += value * second;
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < N; r++) sums[2 * r] = tile[r][0], sums[2 * r + 1] = tile[r][1];
  }
};

}  // namespace PAIRLIGHT_WIDTH
