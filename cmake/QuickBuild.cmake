# SPDX-License-Identifier: MIT
# What makes a first build short, without giving up any optimisation of what is installed.
#
# Half of such a build is reading the headers of the standard library and of others again for each
# source. Compiling several sources as one, and the headers once for all, saves that. Where a compiler
# cache such as ccache is set up each source is compiled by itself: that is better for building again
# and again, and sees to it that every source includes what it uses.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
else()
  set(default ON)
endif()
option(OVERTAKE_JOIN_SOURCES "Compile several sources of a library as one, and common headers once" ${default})

# gcc collects garbage whenever its heap has doubled. Joined sources fill about 1 GB of it, and half of
# that is alive to the end: without collections their compilation takes a twentieth less CPU time, and a
# third more memory. So the machine has to have that memory.
if(OVERTAKE_JOIN_SOURCES AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  cmake_host_system_information(RESULT mebibytes QUERY TOTAL_PHYSICAL_MEMORY)
  math(EXPR mebibytes_each "${mebibytes} / ${processors}")
  if(mebibytes_each GREATER_EQUAL 3072)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1000000>")
  endif()
endif()

# Targets whose sources may be compiled together: no name in an anonymous namespace occurs twice.
function(overtake_join_sources)
  if(OVERTAKE_JOIN_SOURCES)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# Libraries whose sources read common headers as they were compiled once. Such headers fit where options
# of code generation are the same: in tools/, where no target has any of its own.
function(overtake_share_headers)
  if(NOT OVERTAKE_JOIN_SOURCES OR OVERTAKE_SANITIZE)
    return()
  endif()
  if(NOT TARGET overtake_common_headers)
    find_package(nlohmann_json REQUIRED)
    set(directory ${PROJECT_SOURCE_DIR}/cmake)
    add_library(overtake_common_headers STATIC ${directory}/common_headers.cpp)
    target_link_libraries(overtake_common_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(overtake_common_headers PRIVATE ${directory}/common_headers.hpp)
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM overtake_common_headers)
    # gcc 12 warns of std::string's own copies in a header that was compiled before, where it would not
    # in a system's header that it reads (https://gcc.gnu.org/PR105651).
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endforeach()
endfunction()
