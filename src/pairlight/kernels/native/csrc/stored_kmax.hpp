// The scores of one left text with stored right texts: the k largest cells of the product of each pair, and the layers
// after them, in one pass over the rows of the right texts in fp32, fp16 or int8.
#pragma once
#include "head.hpp"
#include "largest.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in stored_kmax.py, 8 bytes each.
struct StoredKMax {
  const void *x;         // [rows, D]
  const float *factors;  // [rows, parts] what the products of a row are multiplied by, or null
  const int64_t *start;  // text t has rows start[t] to start[t + 1]
  const int64_t *texts;  // [count] the texts to score, or null for all
  const float *u;        // [parts, columns, D / parts] the left words of all channels of a part, channel after channel
  const int16_t *pairs;  // the same as integers, [parts, columns, D / parts, the last padded to an even number]
  const float *units;    // [parts, columns] what these integers are multiples of
  const float *offset;   // [parts, columns], or null
  int64_t type, rows, count, dim, parts, channels, words, k, relu, threads;
  Head head;
  const float *base;  // [count] added to the scores, or null
  float *scores;      // [count]
};

// Half precision to single precision.
inline float from_half(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16, rest = half & 0x7fff;
  uint32_t bits = sign | ((rest << 13) + 0x38000000);
  if (rest >= 0x7c00) bits = sign | 0x7f800000 | (rest << 13);
  float x;
  memcpy(&x, &bits, 4);
  if (rest < 0x400) x = float(rest) * 5.9604644775390625e-8f * (sign ? -1.f : 1.f);  // 2^-24
  return x;
}

inline void from_half(const uint16_t *in, int64_t n, float *out) {
  int64_t i = 0;
#if PAIRLIGHT_BYTES == 64
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(in + i))));
#elif PAIRLIGHT_BYTES == 32
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
#endif
  for (; i < n; i++) out[i] = from_half(in[i]);
}

// Adds the products of two pairs of 16-bit integers to every lane.
INLINE Integers<float> add_pairs(Integers<float> sum, Integers<float> a, Integers<float> b) {
  typedef Integers<float> I;
#if PAIRLIGHT_BYTES == 64
  return sum + (I)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif PAIRLIGHT_BYTES == 32
  return sum + (I)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return sum + (I)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

// Like `tile`, with pairs of 16-bit integers in place of numbers.
template <int H, int W>
inline void integer_tile(const int32_t *const *rows, int64_t pairs, const Integers<float> *words, int wide,
                         Vector<float> *out) {
  typedef Integers<float> I;
  I sums[H][W] = {};
  for (int64_t p = 0; p < pairs; p++, words += wide) {
    I column[W];
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) column[w] = words[w];
#pragma GCC unroll 16
    for (int a = 0; a < H; a++) {
      const I value = all_integers(rows[a][p]);
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) sums[a][w] = add_pairs(sums[a][w], value, column[w]);
    }
  }
#pragma GCC unroll 16
  for (int a = 0; a < H; a++)
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) out[a * wide + w] = __builtin_convertvector(sums[a][w], Vector<float>);
}

class StoredKMaxRun {
 public:
  static int run(const StoredKMax &call) {
    const int columns = int(call.words * call.channels / call.parts), vectors = padded(columns, L) / L;
    const int64_t width = call.dim / call.parts, pairs = (width + 1) / 2;
    StoredKMaxRun self{call, columns, vectors, 0, width, pairs, nullptr, nullptr, nullptr, nullptr, 0};
    for (int64_t c = 0; c < call.count; c++) {
      const int64_t text = self.text(c), first = call.start[text], end = call.start[text + 1];
      if (first < 0 || end < first || end > call.rows || end - first > INT32_MAX / 2) return 3;
      self.longest = greatest(self.longest, int(end - first));
    }
    Buffer<V> words(call.type == INT8 ? 0 : call.parts * width * vectors), offset(call.parts * vectors),
        units(call.parts * vectors);
    Buffer<I> integers(call.type == INT8 ? call.parts * pairs * vectors : 0);
    if (!words || !offset || !units || !integers) return 1;
    for (int64_t part = 0; part < call.parts; part++) {
      const int64_t at = part * columns;
      if (call.type == INT8)
        for (int64_t p = 0; p < pairs; p++)
          for (int c = 0; c < columns; c++)
            memcpy((char *)&integers[(part * pairs + p) * vectors] + c * 4, call.pairs + ((at + c) * pairs + p) * 2, 4);
      else
        in_lanes(call.u + at * width, width, columns, int(width), words + part * width * vectors);
      for (int c = 0; c < vectors * L; c++) {  // lanes without a word never have one of the largest cells
        const bool real = c < columns;
        offset[part * vectors + c / L][c % L] = !real ? -INFINITY : call.offset ? call.offset[at + c] : 0.f;
        units[part * vectors + c / L][c % L] = real && call.units ? call.units[at + c] : 1.f;
      }
    }
    self.in_words = words, self.in_integers = integers, self.offset = offset, self.units = units;
    pairlight::parallel((call.count + TOGETHER - 1) / TOGETHER, call.threads, some, &self);
    return self.failed;
  }

  typedef Vector<float> V;
  typedef Integers<float> I;
  const StoredKMax &call;
  int columns, vectors;  // of a part: the left words of its channels, and the vectors they fill, one in each lane
  int longest;           // rows of the longest right text
  int64_t width, pairs;  // numbers of a row of a part, and pairs of them
  const V *in_words;
  const I *in_integers;
  const V *offset, *units;
  int failed;

 private:
  static constexpr int L = LANES<float>;
  static constexpr int FP32 = 0, FP16 = 1, INT8 = 2;
  static constexpr int TOGETHER = 32;  // texts of one task, which share its buffers
  static constexpr int MOST = 8;       // rows of the highest tile
  static constexpr int MAXIMA = 4;     // largest cells of a left word that are held

  struct Memory {
    Buffer<V> cells, maxima;
    Buffer<float> rows, q, found, of_channel;
    Buffer<int16_t> integers;
    Buffer<int64_t> ignored;
    Buffer<int32_t> held;
    explicit Memory(const StoredKMaxRun &self)
        : cells(int64_t(self.longest + MOST) * self.vectors), maxima(MAXIMA * self.vectors),
          rows(self.call.type == FP16 ? self.longest * self.call.dim : 0), q(self.call.channels * self.call.k),
          found(self.call.channels * (SOME + 1)), of_channel(MAXIMA * self.call.words),
          integers(self.call.type == INT8 ? self.longest * self.pairs * 2 : 0), ignored(self.call.k),
          held(self.call.channels) {}
    bool complete() const { return cells && maxima && rows && q && found && of_channel && integers && ignored && held; }
  };

  int64_t text(int64_t c) const { return call.texts ? call.texts[c] : c; }

  static void some(void *self_, int64_t task) {
    StoredKMaxRun &self = *(StoredKMaxRun *)self_;
    Memory memory(self);
    if (!memory.complete()) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    const int64_t first = task * TOGETHER;
    for (int64_t c = first; c < first + TOGETHER && c < self.call.count; c++)
      self.call.scores[c] = self.one(self.text(c), memory) + (self.call.base ? self.call.base[c] : 0.f);
  }

  float one(int64_t text, Memory &memory) const {
    const int64_t first = call.start[text];
    const int n = int(call.start[text + 1] - first);
    if (call.type == FP16) from_half((const uint16_t *)call.x + first * call.dim, n * call.dim, memory.rows);
    for (int part = 0; part < call.parts; part++) {
      products(first, n, part, memory);
      const int channels = int(call.channels / call.parts);
      float *q = memory.q + part * channels * call.k;
      const int maxima = int((call.k + call.words - 1) / greatest(1, int(call.words)));
      bool clean;
      switch (maxima) {
        case 1: clean = finish<1>(first, n, part, memory); break;
        case 2: clean = finish<2>(first, n, part, memory); break;
        default: clean = finish<MAXIMA>(first, n, part, memory);
      }
      for (int c = 0; c < channels; c++) memory.held[c] = 0;
      if (clean && maxima <= MAXIMA && n >= maxima) collect(n, channels, maxima <= 2 ? maxima : MAXIMA, memory);
      for (int c = 0; c < channels; c++) {
        if (memory.held[c] >= call.k && memory.held[c] <= SOME)
          sort_largest(memory.found + c * (SOME + 1), memory.held[c], call.k, q + c * call.k);
        else
          search(n, c, memory, q + c * call.k);
        if (call.relu)
          for (int64_t i = 0; i < call.k; i++) q[c * call.k + i] = 0.f > q[c * call.k + i] ? 0.f : q[c * call.k + i];
      }
    }
    return call.head.score(memory.q);
  }

  // The products of all rows of a text and all left words of a part, the left words in lanes.
  void products(int64_t first, int n, int part, Memory &memory) const {
    if (call.type == INT8) {
      const int8_t *x = (const int8_t *)call.x + first * call.dim + part * width;
      for (int j = 0; j < n; j++) {
        int16_t *to = memory.integers + j * pairs * 2;
        for (int64_t d = 0; d < width; d++) to[d] = x[j * call.dim + d];
      }
      tiles<int32_t>((const int32_t *)(int16_t *)memory.integers, pairs, n, pairs,
                     in_integers + part * pairs * vectors, memory.cells);
    } else {
      const float *x = call.type == FP16 ? memory.rows : (const float *)call.x + first * call.dim;
      tiles<float>(x + part * width, call.dim, n, width, in_words + part * width * vectors, memory.cells);
    }
  }

  template <class N, class W>
  void tiles(const N *x, int64_t by_row, int n, int64_t size, const W *words, V *cells) const {
    for (int w = 0; w < vectors; w += WIDE) switch (least(WIDE, vectors - w)) {
        case 1: stripe<8, 1>(x, by_row, n, size, words + w, cells + w); break;
        case 2: stripe<BYTES == 64 ? 8 : 5, 2>(x, by_row, n, size, words + w, cells + w); break;
        case 3: stripe<BYTES == 64 ? 8 : 4, 3>(x, by_row, n, size, words + w, cells + w); break;
        case 4: stripe<TALL, 4>(x, by_row, n, size, words + w, cells + w); break;
        default: stripe<TALL, WIDE>(x, by_row, n, size, words + w, cells + w);
      }
  }

  template <int H, int W>
  void multiply(const float *const *rows, int64_t size, const V *words, V *cells) const {
    tile<float, H, W>(rows, size, words, vectors, cells);
  }
  template <int H, int W>
  void multiply(const int32_t *const *rows, int64_t size, const I *words, V *cells) const {
    integer_tile<H, W>(rows, size, words, vectors, cells);
  }

  template <int H, int W, class N, class In>
  void stripe(const N *x, int64_t by_row, int n, int64_t size, const In *words, V *cells) const {
    static_assert(H <= MOST, "there are too few cells");
    for (int j = 0; j < n; j += H) {
      const N *rows[H];
      for (int a = 0; a < H; a++) rows[a] = x + least(j + a, n - 1) * by_row;  // after the last row, it is repeated
      multiply<H, W>(rows, size, words, cells + int64_t(j) * vectors);
    }
  }

  // Multiplies and adds what belongs to rows and columns, and finds the largest cells of every left word. Returns
  // whether all cells are numbers.
  template <int M>
  bool finish(int64_t first, int n, int part, Memory &memory) const {
    I broken = {};
    for (int w = 0; w < vectors; w++) {
      const V plus = offset[part * vectors + w], times = units[part * vectors + w];
      V most[M];
      for (int q = 0; q < M; q++) most[q] = all(-INFINITY);
      for (int j = 0; j < n; j++) {
        V &cell = memory.cells[int64_t(j) * vectors + w];
        V x = cell * (call.factors ? times * all(call.factors[(first + j) * call.parts + part]) : times) + plus;
        cell = x;
        broken |= x != x;
#pragma GCC unroll 4
        for (int q = 0; q < M; q++) {
          const V more = larger(x, most[q]);
          x = smaller(x, most[q]), most[q] = more;
        }
      }
      for (int q = 0; q < M; q++) memory.maxima[q * vectors + w] = most[q];
    }
    return !any(broken);
  }

  // The cells that reach a bound which at least k cells of their channel reach.
  void collect(int n, int channels, int maxima, Memory &memory) const {
    const int m = int(call.words);
    for (int c = 0; c < channels; c++) {
      for (int q = 0; q < maxima; q++)
        memcpy(memory.of_channel + q * m, (const float *)(memory.maxima + q * vectors) + c * m, m * sizeof(float));
      const float reached = kth_largest((const float *)memory.of_channel, maxima * m, call.k);
      for (int i = 0; i < m; i++) ((float *)(V *)memory.maxima)[c * m + i] = reached;
    }
    for (int l = columns; l < vectors * L; l++) ((float *)(V *)memory.maxima)[l] = INFINITY;
    for (int w = 0; w < vectors; w++) {
      const V reached = memory.maxima[w];
      for (int j = 0; j < n; j++) {
        const V x = memory.cells[int64_t(j) * vectors + w];
        for (uint32_t bits = lanes_of(x >= reached); bits; bits &= bits - 1) {
          const int l = __builtin_ctz(bits), c = (w * L + l) / m;
          int32_t &held = memory.held[c];
          memory.found[c * (SOME + 1) + least(held, SOME)] = x[l];
          held++;
        }
      }
    }
  }

  // The k largest of all cells of a channel, one by one.
  void search(int n, int c, Memory &memory, float *q) const {
    Best<float> best{q, memory.ignored, call.k};
    for (int j = 0; j < n; j++)
      best.row((const float *)(memory.cells + int64_t(j) * vectors) + c * call.words, int(call.words), 0);
    best.close();
  }
};

}  // namespace PAIRLIGHT_WIDTH
