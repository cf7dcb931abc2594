// The spatial GRU of Match-SRNN, equations (3) and (4): a block of pairs at a time, one pair in each SIMD lane.
//
// Neighbours are always in the order diagonal, top, left, followed by the input:
//   gates      [7D or 4D, 3D + C]  rows r_d r_t r_l (if there are reset gates) z_d z_t z_l z_i
//   candidate  [D, 3D + C]         columns for r.h of the three neighbours, and for s
// The forward pass stores only the states, and the backward pass recomputes the gates: storing them takes 2.5 times
// the memory and is slower.
#pragma once
#include "parallel.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in spatial_gru.py, 8 bytes each.
template <class T>
struct SpatialGru {
  const T *s;                               // [B, C, L, R], the columns contiguous
  int64_t s_pair, s_channel, s_row;         // its strides
  const T *offset;                          // [B, C, L]: the input is relu(s + offset); or null
  int64_t offset_pair, offset_channel, offset_row;
  const int64_t *left, *right;              // [B] lengths
  const int64_t *order;                     // [B] the pairs, those of similar size in the same block
  const int64_t *place;                     // [blocks] where the states of each block start
  int64_t pairs, channels, hidden, reset, relu, reverse, threads;
  const T *gates, *gates_bias, *candidate, *candidate_bias;
  T *last;                                  // [B, D] the state at the last cell
  T *states;                                // for the backward pass, or null
  const T *d_last;
  T *d_s;                                   // [B, C, L, R], the columns contiguous
  int64_t d_s_pair, d_s_channel, d_s_row;
  T *d_gates, *d_gates_bias, *d_candidate, *d_candidate_bias;
};

// The sizes of one cell, in vectors.
struct CellShape {
  int hidden, channels, reset;  // reset: 3D, or 0 without reset gates
  int inputs, inputs1;          // 3D + C, and one more for the constant 1 of the bias
  int gates, candidate_at, values;  // rows of the gates, where the candidate starts after them, and the total

  template <class T>
  explicit CellShape(const SpatialGru<T> &call)
      : hidden(int(call.hidden)), channels(int(call.channels)), reset(call.reset ? 3 * hidden : 0),
        inputs(3 * hidden + channels), inputs1(inputs + 1), gates(reset + 4 * hidden),
        candidate_at(padded(gates, ROWS)), values(candidate_at + padded(hidden, ROWS)) {}
};

// The pairs of one block; lanes after the last pair have no words, so nothing is read or written for them.
template <class T>
struct PairBlock {
  static constexpr int L = LANES<T>;
  int64_t pair[L];
  int left[L], right[L];
  int rows = 0, columns = 0;
  int width[L];       // in the current row: the number of cells of each lane
  int widest, whole;  // the largest and the smallest of these numbers

  PairBlock(const SpatialGru<T> &call, int64_t block) {
    for (int l = 0; l < L; l++) {
      const int64_t at = block * L + l;
      pair[l] = call.order[at < call.pairs ? at : 0];
      left[l] = at < call.pairs ? int(call.left[pair[l]]) : 0;
      right[l] = at < call.pairs ? int(call.right[pair[l]]) : 0;
      if (right[l] == 0) left[l] = 0;
      rows = greatest(rows, left[l]);
      columns = greatest(columns, right[l]);
    }
  }

  void enter(int row) {
    widest = 0, whole = columns;
    for (int l = 0; l < L; l++) {
      width[l] = row < left[l] ? right[l] : 0;
      widest = greatest(widest, width[l]);
      whole = least(whole, width[l]);
    }
  }

  // Row i of channel k in the order of the scan: in reverse, it starts at the last cell of each pair.
  template <class P>
  void cells(P *s, int64_t by_pair, int64_t by_channel, int64_t by_row, bool reverse, int i, int k, P **out) const {
    for (int l = 0; l < L; l++) {
      out[l] = s;
      if (!width[l]) continue;
      out[l] += pair[l] * by_pair + k * by_channel + (reverse ? left[l] - 1 - i : i) * by_row;
      if (reverse) out[l] += right[l] - 1;
    }
  }
};

// Writes s and the constant 1 of the bias after the three states of every cell of row i.
template <class T>
inline void read_row(const SpatialGru<T> &call, const CellShape &shape, const PairBlock<T> &block, int i,
                     Vector<T> *inputs) {
  typedef Vector<T> V;
  for (int k = 0; k < shape.channels; k++) {
    const T *row[LANES<T>];
    block.cells(call.s, call.s_pair, call.s_channel, call.s_row, call.reverse, i, k, row);
    V *s = inputs + 3 * shape.hidden + k;
    gather<T>(row, block.width, block.widest, call.reverse ? -1 : 1, s, shape.inputs1);
    if (!call.offset) continue;
    V offset = V{};
    for (int l = 0; l < LANES<T>; l++)
      if (block.width[l])
        offset[l] = call.offset[block.pair[l] * call.offset_pair + k * call.offset_channel +
                                (call.reverse ? block.left[l] - 1 - i : i) * call.offset_row];
    for (int j = 0; j < block.widest; j++, s += shape.inputs1) *s = larger(V{}, *s + offset);
  }
  for (int j = 0; j < block.widest; j++) inputs[j * shape.inputs1 + shape.inputs] = all(T(1));
}

// One cell: computes its gates and candidate g from its input x. `seen` is the input of the candidate.
template <class T>
inline void cell(const SpatialGru<T> &call, const CellShape &shape, const T *gates, const T *candidate,
                 const Vector<T> *x, Vector<T> *g, Vector<T> *seen) {
  typedef Vector<T> V;
  const int D = shape.hidden;
  product<T>(gates, shape.gates, shape.inputs1, x, g);
  if (shape.reset) {
    for (int k = 0; k < shape.reset; k++) g[k] = sigmoid<T>(g[k]), seen[k] = g[k] * x[k];
    for (int k = shape.reset; k < shape.inputs1; k++) seen[k] = x[k];
  }
  V *z = g + shape.reset;
  for (int k = 0; k < D; k++) softmax<T>(z[k], z[k + D], z[k + 2 * D], z[k + 3 * D]);
  V *c = g + shape.candidate_at;
  product<T>(candidate, D, shape.inputs1, shape.reset ? seen : x, c);
  for (int k = 0; k < D; k++) c[k] = call.relu ? larger(V{}, c[k]) : hyperbolic_tangent(c[k]);
}

template <class V>
INLINE void copy(V *to, const V *from, int n) {
  for (int k = 0; k < n; k++) to[k] = from[k];
}

template <class T>
class SpatialGruForward {
 public:
  static int run(const SpatialGru<T> &call) {
    const CellShape shape(call);
    Buffer<T> gates(int64_t(shape.candidate_at) * shape.inputs1);
    Buffer<T> candidate(int64_t(padded(shape.hidden, ROWS)) * shape.inputs1);
    if (!gates || !candidate) return 1;
    pack<T>(call.gates, shape.inputs, 1, shape.gates, shape.inputs, call.gates_bias, gates);
    pack<T>(call.candidate, shape.inputs, 1, shape.hidden, shape.inputs, call.candidate_bias, candidate);
    SpatialGruForward self{call, shape, gates, candidate, 0};
    pairlight::parallel((call.pairs + LANES<T> - 1) / LANES<T>, call.threads, block, &self);
    return self.failed;
  }

  const SpatialGru<T> &call;
  const CellShape &shape;
  const T *gates, *candidate;
  int failed;

 private:
  typedef Vector<T> V;

  static void block(void *self_, int64_t index) {
    SpatialGruForward &self = *(SpatialGruForward *)self_;
    const SpatialGru<T> &call = self.call;
    const CellShape &shape = self.shape;
    const int D = shape.hidden;
    PairBlock<T> block(call, index);
    const int stride = (block.columns + 1) * D;  // with a column of zeros before the first
    Buffer<V> inputs(int64_t(block.columns) * shape.inputs1), g(shape.values), seen(shape.inputs1);
    Buffer<V> two_rows(call.states ? 0 : 2 * int64_t(stride));
    if (!inputs || !g || !seen || !two_rows) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    V *states = call.states ? (V *)(call.states + call.place[index]) : (V *)two_rows;
    auto row_at = [&](int i) { return states + int64_t(call.states ? i : i & 1) * stride; };
    memset((void *)states, 0, size_t(stride) * sizeof(V));
    for (int i = 0; i < block.rows; i++) {
      block.enter(i);
      const V *up = row_at(i);
      V *here = row_at(i + 1);
      memset((void *)here, 0, size_t(stride) * sizeof(V));
      read_row(call, shape, block, i, (V *)inputs);
      for (int j = 0; j < block.widest; j++) {
        V *x = inputs + j * shape.inputs1, *h = here + (j + 1) * D;
        copy(x, up + j * D, 2 * D);
        copy(x + 2 * D, here + j * D, D);
        cell<T>(call, shape, self.gates, self.candidate, x, g, seen);
        const V *z = g + shape.reset, *c = g + shape.candidate_at;
        for (int k = 0; k < D; k++)
          h[k] = z[k] * x[k] + z[k + D] * x[k + D] + z[k + 2 * D] * x[k + 2 * D] + z[k + 3 * D] * c[k];
        if (j >= block.whole) self.blank(block, j, h);
      }
      self.write_last(block, i, here);
    }
  }

  // Sets the states of cells outside the pair to 0, so that they cannot overflow.
  void blank(const PairBlock<T> &block, int j, V *h) const {
    Integers<T> inside = {};
    for (int l = 0; l < LANES<T>; l++) inside[l] = j < block.width[l] ? -1 : 0;
    for (int k = 0; k < shape.hidden; k++) h[k] = inside ? h[k] : V{};
  }

  void write_last(const PairBlock<T> &block, int i, const V *here) const {
    for (int l = 0; l < LANES<T>; l++)
      if (block.left[l] == i + 1)
        for (int k = 0; k < shape.hidden; k++)
          call.last[block.pair[l] * shape.hidden + k] = here[block.right[l] * shape.hidden + k][l];
  }
};

}  // namespace PAIRLIGHT_WIDTH
