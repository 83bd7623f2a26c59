// SPDX-License-Identifier: MIT
//
// The layers of bench_layers.hpp by XNNPACK (qs8: signed activations and weights, one scale) and by
// oneDNN (unsigned activations, signed weights, a scale per output channel), on the calling thread.
#pragma once

#include <memory>

#include "bench_layers.hpp"

namespace overtake::bench {

/// Instructions that the libraries may use.
enum class PeerLimit { avx2, avx512_vnni, none };

/// Limits the libraries. Called before the first Peers is made.
void start_peers(PeerLimit limit);

class Peers {
public:
    explicit Peers(const Layer& layer);
    ~Peers();
    void run_xnnpack() const;
    void run_onednn() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace overtake::bench
