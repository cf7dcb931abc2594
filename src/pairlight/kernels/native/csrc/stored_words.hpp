// The scores of one left text with stored right texts whose words are rows of a table, by the features of
// pair_features.hpp: first the cells of every distinct word of the right texts, then each text from those of its words.
#pragma once
#include "head.hpp"
#include "largest.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

constexpr int FACTS = 8;  // numbers about a word, besides its cells

// The same fields in the same order as `_Cells` in stored_words.py, 8 bytes each.
struct WordCells {
  const float *units, *norms, *weights;  // the table, as in pair_features.hpp
  const float *left;                     // [words + 2, D]: the left words, their sum, and their weighted sum, of length 1
  const int64_t *left_ids;               // [words]
  const int32_t *distinct;               // [count] ids of the words of the right texts
  int64_t vocabulary, weighted, dim, words, count, stride, threads;
  float *cells;  // [vocabulary, stride] the cosines with the left words, for distinct words only
  float *facts;  // [vocabulary, FACTS]
};

class WordCellsRun {
 public:
  // Returns 2 if a word is not in the table.
  static int run(const WordCells &call) {
    const int columns = int(call.words) + 2, vectors = padded(columns, L) / L;
    for (int64_t w = 0; w < call.count; w++)
      if (call.distinct[w] < 0 || call.distinct[w] >= call.vocabulary) return 2;
    Buffer<V> left(vectors * call.dim);
    if (!left) return 1;
    in_lanes(call.left, call.dim, columns, int(call.dim), (V *)left);
    WordCellsRun self{call, vectors, left, 0};
    pairlight::parallel((call.count + TOGETHER - 1) / TOGETHER, call.threads, some, &self);
    return self.failed;
  }

  typedef Vector<float> V;
  const WordCells &call;
  int vectors;
  const V *left;
  int failed;

 private:
  static constexpr int L = LANES<float>, TOGETHER = 64, MOST = 8;

  static void some(void *self_, int64_t task) {
    WordCellsRun &self = *(WordCellsRun *)self_;
    Buffer<V> cells(int64_t(TOGETHER + MOST) * self.vectors);
    if (!cells) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    const int64_t first = task * TOGETHER, end = first + TOGETHER;
    self.several(self.call.distinct + first, int(end < self.call.count ? TOGETHER : self.call.count - first), cells);
  }

  void several(const int32_t *words, int n, V *cells) const {
    const float *rows[TOGETHER + MOST];
    for (int a = 0; a < n + MOST; a++) rows[a] = call.units + words[least(a, n - 1)] * call.dim;
    for (int w = 0; w < vectors; w += WIDE) switch (least(WIDE, vectors - w)) {
        case 1: stripe<8, 1>(rows, n, w, cells); break;
        case 2: stripe<BYTES == 64 ? 8 : 5, 2>(rows, n, w, cells); break;
        case 3: stripe<BYTES == 64 ? 8 : 4, 3>(rows, n, w, cells); break;
        case 4: stripe<TALL, 4>(rows, n, w, cells); break;
        default: stripe<TALL, WIDE>(rows, n, w, cells);
      }
    const int m = int(call.words);
    for (int a = 0; a < n; a++) {
      const int64_t id = words[a];
      const float *own = (const float *)(cells + a * vectors);
      float largest = m ? own[0] : 0.f;
      for (int i = 1; i < m; i++) largest = own[i] > largest ? own[i] : largest;
      bool same = false;
      for (int i = 0; i < m; i++) same |= call.left_ids[i] == id;
      const float weight = call.weights[id < call.weighted ? id : 0], norm = call.norms[id];
      const float facts[FACTS] = {norm * own[m], weight * norm * own[m + 1], weight * largest,
                                  same ? weight : 0.f, largest, same ? 1.f : 0.f};
      memcpy(call.facts + id * FACTS, facts, sizeof facts);
      memcpy(call.cells + id * call.stride, own, m * sizeof(float));
      // Lanes without a word never have one of the largest cells.
      for (int64_t i = m; i < call.stride; i++) call.cells[id * call.stride + i] = -INFINITY;
    }
  }

  template <int H, int W>
  void stripe(const float *const *rows, int n, int w, V *cells) const {
    static_assert(H <= MOST, "there are too few rows and cells");
    for (int s = 0; s < n; s += H) {
      for (int a = s + H; w == 0 && a < s + 2 * H && a < n; a++)
        for (int64_t d = 0; d < call.dim; d += 16) __builtin_prefetch(rows[a] + d, 0, 2);
      tile<float, H, W>(rows + s, call.dim, left + w, vectors, cells + int64_t(s) * vectors + w);
    }
  }
};

// The same fields in the same order as `_Texts` in stored_words.py, 8 bytes each.
struct StoredWords {
  const float *cells, *facts;
  const int64_t *left_ids;     // [words]
  const float *left_weights;   // [words]
  const int32_t *ids;          // [tokens]
  const int64_t *start;        // text t has the tokens start[t] to start[t + 1]
  const float *products;       // [all texts, 3]: the lengths of its sum and of its weighted sum, and the sum of its weights
  const int64_t *texts;        // [count] the texts to score, or null for all
  int64_t vocabulary, words, tokens, count, stride, k, threads;
  double fixed, by_word;  // BM25 divides by tf + fixed + by_word * R
  Head head;
  float *scores;  // [count]
};

class StoredWordsRun {
 public:
  static int run(const StoredWords &call) {
    StoredWordsRun self{call, int(call.stride) / L, 0, 0};
    for (int64_t c = 0; c < call.count; c++) {
      const int64_t text = self.text(c), first = call.start[text], end = call.start[text + 1];
      if (first < 0 || end < first || end > call.tokens || end - first > INT32_MAX / 2) return 3;
      self.longest = greatest(self.longest, int(end - first));
    }
    pairlight::parallel((call.count + TOGETHER - 1) / TOGETHER, call.threads, some, &self);
    return self.failed;
  }

  typedef Vector<float> V;
  typedef Integers<float> I;
  const StoredWords &call;
  int vectors;  // of the cells of a word
  int longest;
  int failed;

 private:
  static constexpr int L = LANES<float>, TOGETHER = 64, NUMBERS = 9;
  typedef float Quad __attribute__((vector_size(16)));

  struct Memory {
    Buffer<V> rows, weights, matches;
    Buffer<I> ids;
    Buffer<float> columns, found, features;
    Buffer<int64_t> ignored;
    float total;
    explicit Memory(const StoredWordsRun &self)
        : rows(self.vectors), weights(self.vectors), matches(self.vectors), ids(self.vectors), columns(self.longest),
          found(SOME + 2 * L), features(NUMBERS + self.call.k), ignored(self.call.k) {}
    bool complete() const {
      return rows && weights && matches && ids && columns && found && features && ignored;
    }
  };

  int64_t text(int64_t c) const { return call.texts ? call.texts[c] : c; }

  static void some(void *self_, int64_t task) {
    StoredWordsRun &self = *(StoredWordsRun *)self_;
    const StoredWords &call = self.call;
    Memory memory(self);
    if (!memory.complete()) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    memory.total = 0;
    for (int i = 0; i < self.vectors * L; i++) {
      const bool real = i < call.words;
      memory.ids[i / L][i % L] = real ? int32_t(call.left_ids[i]) : -1;
      memory.weights[i / L][i % L] = real ? call.left_weights[i] : 0.f;
      if (real) memory.total += call.left_weights[i];
    }
    const int64_t first = task * TOGETHER;
    for (int64_t c = first; c < first + TOGETHER && c < call.count; c++)
      if (!self.one(self.text(c), memory, call.scores[c])) __atomic_store_n(&self.failed, 2, __ATOMIC_RELAXED);
  }

  const V *cells(int64_t id) const { return (const V *)(call.cells + id * call.stride); }

  bool one(int64_t text, Memory &memory, float &score) const {
    const int32_t *ids = call.ids + call.start[text];
    const int n = int(call.start[text + 1] - call.start[text]), m = int(call.words);
    const float *products = call.products + text * 3;
    Quad sums = {};
    float same = 0;
    for (int j = 0; j < n; j++) {
      if (uint32_t(ids[j]) >= uint64_t(call.vocabulary)) return false;
      const float *facts = call.facts + int64_t(ids[j]) * FACTS;
      Quad own;
      memcpy(&own, facts, sizeof own);
      sums += own;
      memory.columns[j] = facts[4], same += facts[5];
    }
    float *f = memory.features;
    f[0] = sums[0] / products[0], f[1] = sums[1] / products[1];
    f[3] = sums[2] / products[2], f[5] = sums[3] / products[2];
    f[4] = f[6] = 0;
    f[7] = float(log(1.0 + m)), f[8] = float(log(1.0 + n));
    if (same > 0) {
      const V saturation = all(float(call.fixed + call.by_word * n)), one = all(1.f);
      for (int w = 0; w < vectors; w++) memory.matches[w] = V{};
      for (int j = 0; j < n; j++)
        if (call.facts[int64_t(ids[j]) * FACTS + 5] > 0)
          for (int w = 0; w < vectors; w++) memory.matches[w] += memory.ids[w] == ids[j] ? one : V{};
      V same_left = {}, bm25 = {};
      for (int w = 0; w < vectors; w++) {
        const V weight = memory.weights[w], tf = memory.matches[w];
        same_left += weight * smaller(tf, one);
        bm25 += weight * tf / (tf + saturation);
      }
      f[4] = sum<float>(same_left) / memory.total, f[6] = sum<float>(bm25) / memory.total;
    }
    const V zero = {};
    V similar = {};
    for (int w = 0; w < vectors; w++) {
      V most = all(-INFINITY);
      for (int j = 0; j < n; j++) most = larger(cells(ids[j])[w], most);
      memory.rows[w] = most;
      similar += memory.ids[w] < 0 ? zero : memory.weights[w] * most;
    }
    f[2] = sum<float>(similar) / memory.total;
    if (call.k) best(ids, n, memory, f + NUMBERS);
    score = call.head.score(f);
    return true;
  }

  // The k largest cells, as in pair_features.hpp.
  void best(const int32_t *ids, int n, Memory &memory, float *out) const {
    const int m = int(call.words), maxima = least(m, n) ? greatest(m, n) : 0;
    float reached = -INFINITY;
    if (maxima >= call.k) {
      reached = kth_largest(m > n ? (const float *)(V *)memory.rows : (const float *)memory.columns, maxima, call.k);
      float *found = memory.found;
      int held = 0;
      for (int j = 0; j < n && held <= SOME; j++) {
        if (memory.columns[j] < reached) continue;
        const V *own = cells(ids[j]);
        for (int w = 0; w < vectors && held <= SOME; w++)
          for (uint32_t bits = lanes_of(own[w] >= all(reached)); bits; bits &= bits - 1)
            found[held++] = own[w][__builtin_ctz(bits)];
      }
      if (held >= call.k && held <= SOME) return sort_largest(found, held, call.k, out);
    }
    Best<float> all_cells{out, memory.ignored, call.k};
    for (int j = 0; j < n && m; j++)
      if (!(memory.columns[j] < reached)) all_cells.row((const float *)cells(ids[j]), m, 0, reached);
    all_cells.close();
  }
};

}  // namespace PAIRLIGHT_WIDTH
