// How well two texts match, in nine numbers and the k largest cosines of two words, from a table of word vectors.
//
// Nothing as large as the vectors of a text is written. What depends on a left text only is computed once for it, and
// what depends on a left text and one word of a right text is computed once for all right texts with that word.
#pragma once
#include "largest.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in pair_features.py, 8 bytes each.
template <class T>
struct PairFeatures {
  const T *units;                       // [vocabulary, D] the vectors of words, of length 1
  const T *norms;                       // [vocabulary] their lengths before that
  const T *weights;                     // [weighted]; words after these have the weight of word 0
  const int64_t *left_ids, *right_ids;  // [lefts, L], [pairs, R]
  const int64_t *left, *right;          // [lefts], [pairs] lengths
  int64_t vocabulary, weighted, dim, lefts, pairs, left_words, right_words, k, threads;
  double fixed, by_word;  // BM25 divides by tf + fixed + by_word * R
  T *features;            // [pairs, 9 + k]
};

template <class T>
class PairFeaturesRun {
 public:
  // Returns 2 if a word is not in the table.
  static int run(const PairFeatures<T> &call) {
    if (!call.lefts) return 0;
    PairFeaturesRun self{call, int(call.pairs / call.lefts), 0, 0, 0, 0, 0};
    for (int64_t pair = 0; pair < call.pairs; pair++) self.longest = greatest(self.longest, int(call.right[pair]));
    for (int64_t left = 0; left < call.lefts; left++) self.high = greatest(self.high, int(call.left[left]));
    self.high = padded(self.high, L) / L;
    // With several threads, all of them have work. With one, more pairs share words.
    const int share = call.threads > 1 ? (self.times + 4 * int(call.threads) - 1) / (4 * int(call.threads)) : MANY;
    self.size = least(MANY, greatest(FEW, share));
    const int64_t most = int64_t(self.size < self.times ? self.size : self.times) * self.longest;
    const int64_t fitting = KEPT / (int64_t(greatest(1, self.high)) * BYTES);
    self.room = greatest(self.longest, int(most < fitting ? most : fitting));
    pairlight::parallel((self.groups() + self.together() - 1) / self.together(), call.threads, some, &self);
    return self.failed;
  }

  const PairFeatures<T> &call;
  int times;    // right texts of each left text
  int longest;  // words of the longest right text
  int high;     // vectors needed for the longest left text, one word in each lane
  int size;     // right texts of a group
  int room;     // distinct words whose cells are kept at a time
  int failed;

 private:
  typedef Vector<T> V;
  typedef Integers<T> I;
  static constexpr int L = LANES<T>;
  static constexpr int FEW = 16, MANY = 256;   // right texts that share the cells of their words
  static constexpr int64_t KEPT = 512 * 1024;  // bytes of these cells, which then stay in the cache
  static constexpr int MOST = 8;               // rows of the highest tile
  static constexpr int NUMBERS = 9;            // features before the k largest cells

  // The buffers of a task.
  struct Memory {
    // Of the left text: its words in lanes, with their weights and ids.
    Buffer<V> words, weights, edge;  // edge is 0 in the lanes of the last vector that have a word, otherwise -infinity
    Buffer<I> ids;
    Buffer<T> sums;  // [2, D] of its vectors, plain and weighted
    // Of each distinct word of the right texts: its vector, its cells with all left words, the largest of them, and
    // whether it is a left word too.
    Buffer<const T *> row;
    Buffer<V> cells, largest;
    Buffer<T> norm, weight, same;
    Buffer<int32_t> id, slot, at;  // a hash table from ids to numbers of distinct words
    // Of a pair.
    Buffer<V> rows, matches;
    Buffer<const T *> text;  // the vectors of one text, with the factors of its two sums
    Buffer<T> plain, weighted, right_sums, columns, found;
    Buffer<int32_t> where;    // the number of the distinct word at every position of the texts of a group
    Buffer<int64_t> ignored;  // positions of the k largest cells
    int hashes;               // a power of two, less one

    Memory(const PairFeaturesRun &self, int hashes)
        : words(self.high * self.call.dim), weights(self.high), edge(1), ids(self.high), sums(2 * self.call.dim),
          row(self.room + MOST), cells(int64_t(self.room + greatest(L, MOST)) * self.high), largest(self.room / L + 1),
          norm(self.room), weight(self.room), same(self.room), id(self.room), slot(hashes), at(hashes),
          rows(self.high), matches(self.high), text(self.most()), plain(self.most()), weighted(self.most()),
          right_sums(2 * self.call.dim), columns(self.longest), found(SOME + 2 * L),
          where(int64_t(least(self.size, self.times)) * self.longest), ignored(self.call.k), hashes(hashes - 1) {}

    bool complete() const {
      return words && weights && edge && ids && sums && row && cells && largest && norm && weight && same && id &&
             slot && at && rows && matches && text && plain && weighted && right_sums && columns && found && where &&
             ignored;
    }
  };

  // What is known of the left text of a group.
  struct Left {
    int m, vectors;
    T total, length, weighted_length;  // the sum of its weights, the lengths of its sums
  };

  int most() const { return greatest(longest, high * L); }  // words of any text
  int64_t parts() const { return (times + size - 1) / size; }
  int64_t groups() const { return call.lefts * parts(); }
  int64_t together() const { return times && times < FEW ? FEW / times : 1; }

  static void some(void *self_, int64_t task) {
    PairFeaturesRun &self = *(PairFeaturesRun *)self_;
    int hashes = 16;
    while (hashes < 2 * self.room) hashes *= 2;
    Memory memory(self, hashes);
    int failed = !memory.complete();
    const int64_t first = task * self.together(), end = first + self.together();
    for (int64_t group = first; group < end && group < self.groups() && !failed; group++)
      failed = self.several(group, memory);
    if (failed) __atomic_store_n(&self.failed, failed, __ATOMIC_RELAXED);
  }

  // One left text and some of its right texts.
  int several(int64_t group, Memory &memory) const {
    const int64_t left = group / parts();
    const int start = int(group % parts()) * size, end = least(start + size, times);
    Left of;
    if (!read_left(left, of, memory)) return 2;
    for (int time = start, next; time < end; time = next) {
      int distinct = 0, used = 0;
      memset((void *)(int32_t *)memory.slot, 0, size_t(memory.hashes + 1) * sizeof(int32_t));
      for (next = time; next < end; next++) {
        const int64_t pair = next * call.lefts + left;
        const int n = int(call.right[pair]);
        if (next > time && distinct + n > room) break;
        if (!look_up(call.right_ids + pair * call.right_words, n, distinct, memory.where + used, memory)) return 2;
        used += n;
      }
      of_words(distinct, of, memory);
      for (int now = time, from = 0; now < next; now++) {
        const int64_t pair = now * call.lefts + left;
        one(pair, of, memory.where + from, memory);
        from += int(call.right[pair]);
      }
    }
    return 0;
  }

  bool known(int64_t id) const { return id >= 0 && id < call.vocabulary; }
  T weight_of(int64_t id) const { return call.weights[id < call.weighted ? id : 0]; }

  bool read_left(int64_t left, Left &of, Memory &memory) const {
    const int64_t *ids = call.left_ids + left * call.left_words;
    const int m = int(call.left[left]), dim = int(call.dim);
    of = Left{m, padded(m, L) / L, 0, 0, 0};
    for (int i = 0; i < m; i++) {
      if (!known(ids[i])) return false;
      prefetch(memory.text[i] = call.units + ids[i] * dim);
      const T weight = weight_of(ids[i]), norm = call.norms[ids[i]];
      memory.plain[i] = norm, memory.weighted[i] = weight * norm;
      of.total += weight;
    }
    for (int w = 0; w < of.vectors; w++) {
      const T *row[L];
      int count[L];
      for (int l = 0; l < L; l++) {
        const bool real = w * L + l < m;
        const int64_t id = real ? ids[w * L + l] : 0;
        row[l] = call.units + id * dim, count[l] = real ? dim : 0;
        memory.ids[w][l] = real ? int32_t(id) : -1;
        memory.weights[w][l] = real ? weight_of(id) : T(0);
        memory.edge[0][l] = real ? T(0) : -T(INFINITY);  // overwritten until the last vector
      }
      gather<T>(row, count, dim, 1, memory.words + w, of.vectors);
    }
    add_up(m, memory, memory.sums);
    const T *sums = memory.sums;
    of.length = length(dot(sums, sums)), of.weighted_length = length(dot(sums + dim, sums + dim));
    return true;
  }

  static T length(T square) {
    const T root = T(sqrt(double(square)));
    return root < T(1e-8) ? T(1e-8) : root;  // a text without a direction has a cosine of 0
  }

  // Numbers the distinct words: where[j] is the number of word j.
  bool look_up(const int64_t *ids, int n, int &distinct, int32_t *where, Memory &memory) const {
    for (int j = 0; j < n; j++) {
      if (!known(ids[j])) return false;
      const int32_t id = int32_t(ids[j]);
      uint32_t hash = uint32_t(id) * 2654435769u;
      hash = (hash ^ hash >> 15) & uint32_t(memory.hashes);
      while (memory.slot[hash] && memory.at[hash] != id) hash = (hash + 1) & uint32_t(memory.hashes);
      if (!memory.slot[hash]) {
        memory.at[hash] = id, memory.id[distinct] = id;
        memory.row[distinct] = call.units + int64_t(id) * call.dim;
        if (distinct < MOST) prefetch(memory.row[distinct]);  // those of the first tile
        memory.norm[distinct] = call.norms[id], memory.weight[distinct] = weight_of(id);
        memory.slot[hash] = ++distinct;
      }
      where[j] = memory.slot[hash] - 1;
    }
    return true;
  }

  // The cells of all distinct words, the largest of each, and whether it is in the left text.
  void of_words(int distinct, const Left &of, Memory &memory) const {
    if (!distinct || !of.m) return;
    for (int q = 0; q < MOST; q++) memory.row[distinct + q] = memory.row[distinct - 1];  // of the last tile: ignored
    for (int w = 0; w < of.vectors; w += WIDE) switch (least(WIDE, of.vectors - w)) {
        case 1: stripe<8, 1>(distinct, w, of.vectors, memory); break;
        case 2: stripe<BYTES == 64 ? 8 : 5, 2>(distinct, w, of.vectors, memory); break;
        case 3: stripe<BYTES == 64 ? 8 : 4, 3>(distinct, w, of.vectors, memory); break;
        case 4: stripe<TALL, 4>(distinct, w, of.vectors, memory); break;
        default: stripe<TALL, WIDE>(distinct, w, of.vectors, memory);
      }
    for (int s = 0; s < distinct; s += L) {
      V most[L];
      for (int a = 0; a < L; a++) {
        const V *cells = memory.cells + int64_t(s + a) * of.vectors;
        most[a] = cells[of.vectors - 1] + memory.edge[0];
        for (int w = 0; w + 1 < of.vectors; w++) most[a] = larger(most[a], cells[w]);
      }
      transpose<T>(most);
      V largest = most[0];
      for (int a = 1; a < L; a++) largest = larger(largest, most[a]);
      memory.largest[s / L] = largest;
    }
    for (int s = 0; s < distinct; s++) {
      I found = {};
      for (int w = 0; w < of.vectors; w++) found |= memory.ids[w] == memory.id[s];
      memory.same[s] = T(any(found));
    }
  }

  template <int H, int W>
  void stripe(int distinct, int w, int vectors, Memory &memory) const {
    static_assert(H <= MOST, "there are too few rows and cells");
    for (int s = 0; s < distinct; s += H) {
      if (w == 0)
        for (int a = s + H; a < s + 2 * H && a < distinct; a++) prefetch(memory.row[a]);
      tile<T, H, W>(memory.row + s, call.dim, memory.words + w, vectors, memory.cells + int64_t(s) * vectors + w);
    }
  }

  void prefetch(const T *row) const {
    for (int64_t d = 0; d < call.dim; d += 64 / sizeof(T)) __builtin_prefetch(row + d, 0, 2);
  }

  void one(int64_t pair, const Left &of, const int32_t *where, Memory &memory) const {
    const int n = int(call.right[pair]);
    T *out = call.features + pair * (NUMBERS + call.k);
    const T *largest = (const T *)(V *)memory.largest;
    T total = 0, similar = 0, same = 0;
    for (int w = 0; w < of.vectors; w++) memory.matches[w] = V{};
    for (int j = 0; j < n; j++) {
      const int32_t s = where[j];
      const T weight = memory.weight[s], norm = memory.norm[s];
      total += weight;
      memory.plain[j] = norm, memory.weighted[j] = weight * norm, memory.text[j] = memory.row[s];
      if (!of.m) continue;
      memory.columns[j] = largest[s];
      similar += weight * largest[s];
      if (memory.same[s] == T(0)) continue;
      same += weight;
      for (int w = 0; w < of.vectors; w++)
        memory.matches[w] += memory.ids[w] == memory.id[s] ? all(T(1)) : V{};
    }
    const V saturation = all(T(call.fixed + call.by_word * n)), one = all(T(1));
    V similar_left = {}, same_left = {}, bm25 = {};
    for (int w = 0; w < of.vectors; w++) {
      V most = {};
      if (n) most = memory.cells[int64_t(where[0]) * of.vectors + w];
      for (int j = 1; j < n; j++) most = larger(memory.cells[int64_t(where[j]) * of.vectors + w], most);
      memory.rows[w] = most;
      const V weight = memory.weights[w], tf = memory.matches[w];
      similar_left += weight * most;
      same_left += weight * smaller(tf, one);
      bm25 += weight * tf / (tf + saturation);
    }
    add_up(n, memory, memory.right_sums);
    const T *left_sums = memory.sums, *sums = memory.right_sums;
    out[0] = dot(left_sums, sums) / (of.length * length(dot(sums, sums)));
    left_sums += call.dim, sums += call.dim;
    out[1] = dot(left_sums, sums) / (of.weighted_length * length(dot(sums, sums)));
    out[2] = sum<T>(similar_left) / of.total, out[3] = similar / total;
    out[4] = sum<T>(same_left) / of.total, out[5] = same / total;
    out[6] = sum<T>(bm25) / of.total;
    out[7] = T(log(1.0 + of.m)), out[8] = T(log(1.0 + n));
    if (call.k) best(of, n, where, memory, out + NUMBERS);
  }

  // The sums of the vectors of a text, plain and weighted: out[2, D].
  void add_up(int n, const Memory &memory, T *out) const {
    constexpr int C = 4;  // vectors of each sum that are held in registers
    const int dim = int(call.dim);
    int d = 0;
    for (; d + C * L <= dim; d += C * L) {
      V plain[C] = {}, weighted[C] = {};
      for (int j = 0; j < n; j++) {
        const V norm = all(memory.plain[j]), both = all(memory.weighted[j]);
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
          V x;
          memcpy(&x, memory.text[j] + d + c * L, BYTES);
          plain[c] += norm * x, weighted[c] += both * x;
        }
      }
      memcpy((void *)(out + d), plain, C * BYTES), memcpy((void *)(out + dim + d), weighted, C * BYTES);
    }
    for (; d < dim; d++) {
      T plain = 0, weighted = 0;
      for (int j = 0; j < n; j++)
        plain += memory.plain[j] * memory.text[j][d], weighted += memory.weighted[j] * memory.text[j][d];
      out[d] = plain, out[dim + d] = weighted;
    }
  }

  T dot(const T *a, const T *b) const {
    V total = {}, x, y;
    int64_t d = 0;
    for (; d + L <= call.dim; d += L) {
      memcpy(&x, a + d, BYTES), memcpy(&y, b + d, BYTES);
      total += x * y;
    }
    T rest = sum<T>(total);
    for (; d < call.dim; d++) rest += a[d] * b[d];
    return rest;
  }

  // The k largest cells. At least k cells reach the k-th largest of the largest cells of all rows, or of all columns,
  // so that only few have to be compared one by one.
  void best(const Left &of, int n, const int32_t *where, Memory &memory, T *out) const {
    const int m = of.m, maxima = least(m, n) ? greatest(m, n) : 0;
    T reached = -T(INFINITY);
    if (maxima >= call.k) {
      reached = kth_largest(m > n ? (const T *)(V *)memory.rows : (const T *)memory.columns, maxima, call.k);
      T *found = memory.found;
      int held = 0;
      for (int j = 0; j < n && held <= SOME; j++) {
        if (memory.columns[j] < reached) continue;
        const V *cells = memory.cells + int64_t(where[j]) * of.vectors;
        for (int w = 0; w < of.vectors && held <= SOME; w++) {
          const V x = w + 1 < of.vectors ? cells[w] : cells[w] + memory.edge[0];
          if (any(x >= all(reached)))
            for (int l = 0; l < L; l++) found[held] = x[l], held += x[l] >= reached;  // without branches
        }
      }
      if (held >= call.k && held <= SOME) return sort_largest(found, held, call.k, out);
    }
    Best<T> all_cells{out, memory.ignored, call.k};
    for (int j = 0; j < n && m; j++)
      if (!(memory.columns[j] < reached))
        all_cells.row((const T *)(memory.cells + int64_t(where[j]) * of.vectors), m, 0, reached);
    all_cells.close();
  }
};

}  // namespace PAIRLIGHT_WIDTH
