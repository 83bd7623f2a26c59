# SPDX-License-Identifier: MIT
# Most of a first build is reading the headers of the standard library and of others again for each
# source. Compiling ten sources as one takes a third of the time. Where a compiler cache such as
# ccache is set up each source is compiled by itself: that is better for building again and again,
# and sees to it that every source includes what it uses.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
else()
  set(default ON)
endif()
option(OVERTAKE_JOIN_SOURCES "Compile several sources of a library as one" ${default})

function(overtake_join_sources)
  if(OVERTAKE_JOIN_SOURCES)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()
