// SPDX-License-Identifier: MIT
//
// What of the interfaces is compiled: their destructors, and with them one vtable and one type
// description for everybody.
#include "overtake/device.hpp"
#include "overtake/error.hpp"

namespace overtake {

Error::~Error() = default;
Buffer::~Buffer() = default;
Queue::~Queue() = default;
ManualClock::~ManualClock() = default;
Device::~Device() = default;

} // namespace overtake
