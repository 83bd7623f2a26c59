// SPDX-License-Identifier: MIT
//
// Everything of the C++ API.
#pragma once

#include "overtake/export.hpp" // first: it names the standard that a program needs

#include "overtake/custom_operator.hpp"
#include "overtake/device.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/event.hpp"
#include "overtake/event_source.hpp"
#include "overtake/expected_times.hpp"
#include "overtake/graph.hpp"
#include "overtake/model.hpp"
#include "overtake/processor.hpp"
#include "overtake/service.hpp"
#include "overtake/session.hpp"
