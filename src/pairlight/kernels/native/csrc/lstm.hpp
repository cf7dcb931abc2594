// One direction of an LSTM over texts of different lengths: a block of texts at a time, one text in each SIMD lane.
//
//   weight [4H, E + H], bias [4H]: rows i, f, c, o; columns for the word x_t and for the previous state.
//
// With `rows`, the products of the weights and of distinct words were computed before: E is 0, and there is no bias.
#pragma once
#include "parallel.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in lstm.py, 8 bytes each.
template <class T>
struct Lstm {
  const T *x;  // [B, L, E], the last axis contiguous
  int64_t x_text, x_word;
  const int64_t *lengths;  // [B]
  const int64_t *order;    // [B] the texts sorted by length
  const int64_t *place;    // [blocks] where the gates of each block start
  const int64_t *rows;     // [B, L] the row of x for every word, where x [U, 4H] has W x_t + b; or null
  int64_t texts, longest, inputs, hidden, reverse, threads;
  const T *weight, *bias;
  T *out;  // [B, L, H], the last axis contiguous; 0 after the end of a text
  int64_t out_text, out_word;
  T *gates;  // for the backward pass: i, f, c~, o and c of every word; or null
  const T *d_out;
  T *d_x;  // the gradient is added to it; or null
  int64_t d_out_text, d_out_word, d_x_text, d_x_word;
  T *d_weight, *d_bias;
};

// The texts of one block; lanes after the last text have no words.
template <class T>
struct TextBlock {
  static constexpr int L = LANES<T>;
  const bool reverse;
  int64_t text[L];
  int length[L], steps = 0;
  int count[L];  // at the current step: n for lanes that have this word, otherwise 0

  TextBlock(const Lstm<T> &call, int64_t block) : reverse(call.reverse) {
    for (int l = 0; l < L; l++) {
      const int64_t at = block * L + l;
      text[l] = call.order[at < call.texts ? at : 0];
      length[l] = at < call.texts ? int(call.lengths[text[l]]) : 0;
      steps = greatest(steps, length[l]);
    }
  }

  // The word that lane l reads at this step; in reverse, the first is the last word of the text.
  int word(int l, int step) const { return reverse ? length[l] - 1 - step : step; }

  // The rows of x with the products of the words.
  void products(const Lstm<T> &call, int step, int n, const T **row) {
    for (int l = 0; l < L; l++) {
      count[l] = step < length[l] ? n : 0;
      row[l] = call.x + (count[l] ? call.rows[text[l] * call.longest + word(l, step)] * call.x_word : 0);
    }
  }

  template <class P>
  void rows(P *base, int64_t by_text, int64_t by_word, int step, int n, P **row) {
    for (int l = 0; l < L; l++) {
      count[l] = step < length[l] ? n : 0;
      row[l] = count[l] ? base + text[l] * by_text + word(l, step) * by_word : base;
    }
  }
};

template <class T>
class LstmForward {
 public:
  static int run(const Lstm<T> &call) {
    const int E = int(call.inputs), H = int(call.hidden), K1 = E + H + (call.bias ? 1 : 0);
    Buffer<T> packed(int64_t(padded(4 * H, ROWS)) * K1);
    if (!packed) return 1;
    pack<T>(call.weight, E + H, 1, 4 * H, E + H, call.bias, packed);
    LstmForward self{call, packed, E, H, 0};
    pairlight::parallel((call.texts + LANES<T> - 1) / LANES<T>, call.threads, block, &self);
    return self.failed;
  }

  const Lstm<T> &call;
  const T *packed;
  int E, H;
  int failed;

 private:
  typedef Vector<T> V;

  static void block(void *self_, int64_t index) {
    LstmForward &self = *(LstmForward *)self_;
    const Lstm<T> &call = self.call;
    const int E = self.E, H = self.H;
    TextBlock<T> block(call, index);
    Buffer<V> x(E + H + 1), sums(padded(4 * H, ROWS)), scratch(5 * H);
    if (!x || !sums || !scratch) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    V *h = x + E, *g = scratch;
    x[E + H] = all(T(1));
    for (int step = 0; step < block.steps; step++) {
      const T *words[LANES<T>];
      if (call.rows) {
        block.products(call, step, 4 * H, words);
        gather<T>(words, block.count, 4 * H, 1, sums, 1);
        product<T, true>(self.packed, 4 * H, H, h, sums);
      } else {
        block.rows(call.x, call.x_text, call.x_word, step, E, words);
        gather<T>(words, block.count, E, 1, x, 1);
        product<T>(self.packed, 4 * H, E + H + 1, x, sums);
      }
      const V *before = g + 4 * H;
      if (call.gates) g = (V *)(call.gates + call.place[index]) + int64_t(step) * 5 * H;
      for (int k = 0; k < H; k++) {
        const V i = sigmoid<T>(sums[k]), f = sigmoid<T>(sums[H + k]), o = sigmoid<T>(sums[3 * H + k]);
        const V fresh = hyperbolic_tangent(sums[2 * H + k]);
        const V c = f * before[k] + i * fresh;
        g[k] = i, g[H + k] = f, g[2 * H + k] = fresh, g[3 * H + k] = o, g[4 * H + k] = c;
        h[k] = o * hyperbolic_tangent(c);
      }
      T *out[LANES<T>];
      block.rows(call.out, call.out_text, call.out_word, step, H, out);
      scatter<T>(h, 1, H, out, block.count, 1);
    }
    for (int l = 0; l < LANES<T> && index * LANES<T> + l < call.texts; l++)
      for (int64_t word = block.length[l]; word < call.longest; word++)
        memset((void *)(call.out + block.text[l] * call.out_text + word * call.out_word), 0, H * sizeof(T));
  }
};

}  // namespace PAIRLIGHT_WIDTH
