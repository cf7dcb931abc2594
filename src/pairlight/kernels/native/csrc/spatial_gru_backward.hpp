// Gradients of the spatial GRU: rows from last to first, with the gates of a row recomputed from the states.
#pragma once
#include "spatial_gru.hpp"

namespace PAIRLIGHT_WIDTH {

template <class T>
class SpatialGruBackward {
 public:
  static int run(const SpatialGru<T> &call) {
    const CellShape shape(call);
    const int D = shape.hidden, K = shape.inputs, K1 = shape.inputs1, rows = shape.gates + D;
    Buffer<T> gates(int64_t(shape.candidate_at) * K1), candidate(int64_t(padded(D, ROWS)) * K1);
    Buffer<T> gates_back(int64_t(padded(K, ROWS)) * shape.gates), candidate_back(int64_t(padded(K, ROWS)) * D);
    // Weight gradients are summed within a fixed number of shares of the batch, then over the shares in order. The
    // order of all additions is therefore independent of the number of threads.
    const int64_t blocks = (call.pairs + LANES<T> - 1) / LANES<T>, shares = blocks < 32 ? blocks : 32;
    Buffer<T> sums(shares * rows * K1);
    if (!gates || !candidate || !gates_back || !candidate_back || !sums) return 1;
    pack<T>(call.gates, K, 1, shape.gates, K, call.gates_bias, gates);
    pack<T>(call.candidate, K, 1, D, K, call.candidate_bias, candidate);
    pack<T>(call.gates, 1, K, K, shape.gates, nullptr, gates_back);
    pack<T>(call.candidate, 1, K, K, D, nullptr, candidate_back);
    SpatialGruBackward self{call, shape, gates, candidate, gates_back, candidate_back, blocks, shares, sums, 0};
    pairlight::parallel(shares, call.threads, share, &self);
    for (int64_t n = 0; n < shares; n++)
      for (int o = 0; o < rows; o++) {
        const T *from = sums + (n * rows + o) * K1;
        const int r = o < shape.gates ? o : o - shape.gates;
        T *weight = (o < shape.gates ? call.d_gates : call.d_candidate) + int64_t(r) * K;
        for (int k = 0; k < K; k++) weight[k] += from[k];
        (o < shape.gates ? call.d_gates_bias : call.d_candidate_bias)[r] += from[K];
      }
    return self.failed;
  }

  const SpatialGru<T> &call;
  const CellShape &shape;
  const T *gates, *candidate, *gates_back, *candidate_back;
  int64_t blocks, shares;
  T *sums;
  int failed;

 private:
  typedef Vector<T> V;

  static void share(void *self_, int64_t index) {
    SpatialGruBackward &self = *(SpatialGruBackward *)self_;
    const CellShape &shape = self.shape;
    const int D = shape.hidden, K1 = shape.inputs1;
    Buffer<V> d_gates(outer_vectors(shape.gates, K1)), d_candidate(outer_vectors(D, K1));
    bool fits = d_gates && d_candidate;
    const int64_t first = index * self.blocks / self.shares, end = (index + 1) * self.blocks / self.shares;
    for (int64_t block = first; fits && block < end; block++) fits = self.block(block, d_gates, d_candidate);
    if (!fits) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    T *out = self.sums + index * (shape.gates + D) * K1;
    for (int o = 0; o < shape.gates; o++)
      for (int k = 0; k < K1; k++) *out++ = outer_at<T>(d_gates, K1, o, k);
    for (int o = 0; o < D; o++)
      for (int k = 0; k < K1; k++) *out++ = outer_at<T>(d_candidate, K1, o, k);
  }

  bool block(int64_t index, V *d_gates, V *d_candidate) const {
    const int D = shape.hidden, K1 = shape.inputs1;
    PairBlock<T> block(call, index);
    const int N = block.columns, stride = (N + 1) * D;
    const V *states = (const V *)(call.states + call.place[index]);
    const int past = TALL + WIDE;  // `outer` reads up to one tile past the end
    Buffer<V> inputs(int64_t(N) * K1 + past), seen(int64_t(shape.reset ? N : 0) * K1 + past);
    Buffer<V> g(int64_t(N) * shape.values + past), d_input(padded(shape.inputs, ROWS));
    Buffer<V> d_s(int64_t(N) * shape.channels), d_here_(stride), d_up_(stride);
    if (!inputs || !seen || !g || !d_input || !d_s || !d_here_ || !d_up_) return false;
    V *d_here = d_here_, *d_up = d_up_;
    for (int i = block.rows - 1; i >= 0; i--) {
      block.enter(i);
      const int n = block.widest;
      const V *up = states + int64_t(i) * stride, *here = up + stride;
      read_row(call, shape, block, i, (V *)inputs);
      for (int j = 0; j < n; j++) {
        V *x = inputs + j * K1;
        copy(x, up + j * D, 2 * D);
        copy(x + 2 * D, here + j * D, D);
        cell<T>(call, shape, gates, candidate, x, g + j * shape.values, seen + (shape.reset ? j * K1 : 0));
      }
      memset((void *)d_up, 0, size_t(stride) * sizeof(V));
      add_last(block, i, d_here);
      for (int j = n - 1; j >= 0; j--) {
        cell_back(inputs + j * K1, g + j * shape.values, here + (j + 1) * D, d_here + (j + 1) * D, d_input);
        for (int k = 0; k < 2 * D; k++) d_up[j * D + k] += d_input[k];
        for (int k = 0; k < D; k++) d_here[j * D + k] += d_input[2 * D + k];
        copy(d_s + j * shape.channels, d_input + 3 * D, shape.channels);
      }
      write_row(block, i, inputs, d_s);
      const V *saw = shape.reset ? seen : inputs;
      outer<T>(g, shape.values, shape.gates, inputs, K1, K1, n, d_gates);
      outer<T>(g + shape.candidate_at, shape.values, D, saw, K1, K1, n, d_candidate);
      V *swap = d_here;
      d_here = d_up, d_up = swap;
    }
    return true;
  }

  // One cell: from the gradient of its state h, those of its input, and of the sums that enter the gates (into g).
  void cell_back(const V *x, V *g, const V *h, const V *d_h, V *d_input) const {
    const int D = shape.hidden;
    const V one = all(T(1));
    V *z = g + shape.reset, *c = g + shape.candidate_at;
    for (int k = 0; k < D; k++) {
      const V slope = call.relu ? (c[k] > V{} ? one : V{}) : one - c[k] * c[k];
      const V d_i = d_h[k] * z[k + 3 * D];
      z[k + 3 * D] = d_i * (c[k] - h[k]);
      c[k] = d_i * slope;
    }
    product<T>(candidate_back, shape.inputs, D, c, d_input);
    for (int k = 0; k < shape.reset; k++) {
      const V through = d_input[k] * g[k];
      d_input[k] = through;
      g[k] = through * x[k] * (one - g[k]);
    }
    for (int way = 0; way < 3; way++)  // the three states also contribute to h directly, through the update gates
      for (int k = 0, at = way * D; k < D; k++, at++) {
        const V direct = d_h[k] * z[at];
        d_input[at] += direct;
        z[at] = direct * (x[at] - h[k]);
      }
    product<T, true>(gates_back, shape.inputs, shape.gates, g, d_input);
  }

  void add_last(const PairBlock<T> &block, int i, V *d_here) const {
    for (int l = 0; l < LANES<T>; l++)
      if (block.left[l] == i + 1)
        for (int k = 0; k < shape.hidden; k++)
          d_here[block.right[l] * shape.hidden + k][l] += call.d_last[block.pair[l] * shape.hidden + k];
  }

  void write_row(const PairBlock<T> &block, int i, const V *inputs, V *d_s) const {
    const int C = shape.channels;
    if (call.offset)
      for (int j = 0; j < block.widest; j++)
        for (int k = 0; k < C; k++)
          d_s[j * C + k] = inputs[j * shape.inputs1 + 3 * shape.hidden + k] > V{} ? d_s[j * C + k] : V{};
    for (int k = 0; k < C; k++) {
      T *row[LANES<T>];
      block.cells(call.d_s, call.d_s_pair, call.d_s_channel, call.d_s_row, call.reverse, i, k, row);
      scatter<T>(d_s + k, C, block.widest, row, block.width, call.reverse ? -1 : 1);
    }
  }
};

}  // namespace PAIRLIGHT_WIDTH
