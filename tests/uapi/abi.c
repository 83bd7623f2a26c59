// SPDX-License-Identifier: MIT
#include "abi.h"
