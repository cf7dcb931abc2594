// The C functions of one SIMD width: pairlight_<kernel>_<f32 or f64>_<width>. They return 0, or 1 if out of memory.
#include "byte_products.hpp"
#include "conv2d.hpp"
#include "conv2d_backward.hpp"
#include "distances.hpp"
#include "embedding_sums.hpp"
#include "kernel_counts.hpp"
#include "lstm_backward.hpp"
#include "matmul.hpp"
#include "ngram_sums.hpp"
#include "pair_features.hpp"
#include "product_kmax.hpp"
#include "product_max_backward.hpp"
#include "segment_max.hpp"
#include "spatial_gru_backward.hpp"
#include "stored_kmax.hpp"
#include "stored_words.hpp"
#include "token_matches.hpp"

using namespace PAIRLIGHT_WIDTH;

#define JOIN_(kernel, type, width) pairlight_##kernel##_##type##_##width
#define JOIN(kernel, type, width) JOIN_(kernel, type, width)
#define EXPORT extern "C" __attribute__((visibility("default")))

#define KERNELS(T, type)                                                                                              \
  EXPORT int JOIN(lanes, type, PAIRLIGHT_WIDTH)() { return LANES<T>; }                                                \
  EXPORT int JOIN(lstm, type, PAIRLIGHT_WIDTH)(const Lstm<T> *call) { return LstmForward<T>::run(*call); }            \
  EXPORT int JOIN(lstm_backward, type, PAIRLIGHT_WIDTH)(const Lstm<T> *call) { return LstmBackward<T>::run(*call); }  \
  EXPORT int JOIN(spatial_gru, type, PAIRLIGHT_WIDTH)(const SpatialGru<T> *call) {                                    \
    return SpatialGruForward<T>::run(*call);                                                                          \
  }                                                                                                                   \
  EXPORT int JOIN(spatial_gru_backward, type, PAIRLIGHT_WIDTH)(const SpatialGru<T> *call) {                           \
    return SpatialGruBackward<T>::run(*call);                                                                         \
  }                                                                                                                   \
  EXPORT int JOIN(kernel_counts, type, PAIRLIGHT_WIDTH)(const KernelCounts<T> *call) {                                \
    return KernelCountsRun<T>::forward(*call);                                                                        \
  }                                                                                                                   \
  EXPORT int JOIN(kernel_counts_backward, type, PAIRLIGHT_WIDTH)(const KernelCounts<T> *call) {                       \
    return KernelCountsRun<T>::backward(*call);                                                                       \
  }                                                                                                                   \
  EXPORT int JOIN(matmul, type, PAIRLIGHT_WIDTH)(const MatMul<T> *call) { return MatMulRun<T>::run(*call); }           \
  EXPORT int JOIN(ngram_sums, type, PAIRLIGHT_WIDTH)(const NgramSums<T> *call) {                                       \
    return NgramSumsRun<T>::forward(*call);                                                                            \
  }                                                                                                                    \
  EXPORT int JOIN(ngram_sums_backward, type, PAIRLIGHT_WIDTH)(const NgramSums<T> *call) {                              \
    return NgramSumsRun<T>::backward(*call);                                                                           \
  }                                                                                                                    \
  EXPORT int JOIN(conv2d, type, PAIRLIGHT_WIDTH)(const Conv2d<T> *call) { return Conv2dRun<T>::run(*call); }           \
  EXPORT int JOIN(conv2d_backward, type, PAIRLIGHT_WIDTH)(const Conv2dBackward<T> *call) {                             \
    return Conv2dBackwardRun<T>::run(*call);                                                                           \
  }                                                                                                                    \
  EXPORT int JOIN(distances, type, PAIRLIGHT_WIDTH)(const Distances<T> *call) { return DistancesRun<T>::run(*call); }  \
  EXPORT int JOIN(embedding_sums, type, PAIRLIGHT_WIDTH)(const EmbeddingSums<T> *call) {                               \
    return EmbeddingSumsRun<T>::run(*call);                                                                            \
  }                                                                                                                    \
  EXPORT int JOIN(segment_max, type, PAIRLIGHT_WIDTH)(const SegmentMax<T> *call) {                                     \
    return SegmentMaxRun<T>::run(*call);                                                                               \
  }                                                                                                                    \
  EXPORT int JOIN(kmax, type, PAIRLIGHT_WIDTH)(const KMax<T> *call) { return kmax(*call); }                            \
  EXPORT int JOIN(product_kmax, type, PAIRLIGHT_WIDTH)(const ProductKMax<T> *call) {                                  \
    return ProductKMaxRun<T>::run(*call);                                                                             \
  }                                                                                                                   \
  EXPORT int JOIN(product_max, type, PAIRLIGHT_WIDTH)(const ProductMax<T> *call) {                                    \
    return ProductMaxForward<T>::run(*call);                                                                          \
  }                                                                                                                   \
  EXPORT int JOIN(product_max_backward, type, PAIRLIGHT_WIDTH)(const ProductMax<T> *call) {                           \
    return ProductMaxBackward<T>::run(*call);                                                                         \
  }

KERNELS(float, f32)
KERNELS(double, f64)

// Token ids are integers; their counts are float32.
EXPORT int JOIN(token_matches, f32, PAIRLIGHT_WIDTH)(const TokenMatches *call) { return token_matches(*call); }

EXPORT int JOIN(byte_products, f32, PAIRLIGHT_WIDTH)(const ByteProducts *call) { return ByteProductsRun::run(*call); }

// Models score in float32.
EXPORT int JOIN(pair_features, f32, PAIRLIGHT_WIDTH)(const PairFeatures<float> *call) {
  return PairFeaturesRun<float>::run(*call);
}
EXPORT int JOIN(stored_kmax, f32, PAIRLIGHT_WIDTH)(const StoredKMax *call) { return StoredKMaxRun::run(*call); }
EXPORT int JOIN(word_cells, f32, PAIRLIGHT_WIDTH)(const WordCells *call) { return WordCellsRun::run(*call); }
EXPORT int JOIN(stored_words, f32, PAIRLIGHT_WIDTH)(const StoredWords *call) { return StoredWordsRun::run(*call); }
