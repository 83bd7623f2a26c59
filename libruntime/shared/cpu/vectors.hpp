// SPDX-License-Identifier: MIT
//
// Loops of arithmetic, compiled for the vectors of every x86-64 CPU and for those of AVX2.
#pragma once

namespace overtake::cpu {

#if defined(__x86_64__)

/// Whether the CPU that runs this has AVX2.
inline bool has_avx2() {
    static const bool has = __builtin_cpu_supports("avx2");
    return has;
}

/// Everything that `loop` calls is part of this function.  It uses AVX2 without FMA: each product
/// is rounded before it is added, so results are the same as with other vectors.
template <typename Loop>
[[gnu::target("avx2"), gnu::flatten]] void run_with_avx2(Loop loop) {
    loop();
}

/// Calls loop(), with the widest vectors that the CPU has.
template <typename Loop>
void with_vectors(Loop loop) {
    if (has_avx2())
        run_with_avx2(loop);
    else
        loop();
}

#else

template <typename Loop>
void with_vectors(Loop loop) {
    loop();
}

#endif

} // namespace overtake::cpu
