# SPDX-License-Identifier: MIT
# What makes a first build short.
#
# Most of it is reading the headers of the standard library and of others again for each source.
# Compiling several sources as one saves that. Where a compiler cache such as ccache is set up each
# source is compiled by itself: that is better for building again and again, and sees to it that
# every source includes what it uses.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
else()
  set(default ON)
endif()
option(OVERTAKE_JOIN_SOURCES "Compile several sources of a library as one" ${default})

# Libraries whose sources may be compiled together: no name in an anonymous namespace occurs twice.
function(overtake_join_sources)
  if(OVERTAKE_JOIN_SOURCES)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# Code that spends its time in the libraries it calls, or no time worth speaking of: optimising it
# further takes a third of its build and makes nothing faster that anybody waits for.
function(overtake_optimise_lightly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# Code that waits for a user, or for what it starts: reads options, prints tables, writes pages.
function(overtake_leave_unoptimised)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endforeach()
endfunction()
