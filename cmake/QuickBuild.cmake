# SPDX-License-Identifier: MIT
# This file shortens a first build. The installed files keep all their optimisations.
#
# Half of a first build is spent reading the headers of the standard library and of other libraries
# again for each source. Compiling several sources as one, and the headers once for all, saves that.
# If a compiler cache such as ccache is set up, each source is compiled by itself: this is better
# for later builds, and makes sure that every source includes the headers it uses.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
else()
  set(default ON)
endif()
option(OVERTAKE_JOIN_SOURCES "Compile several sources of a library as one, and common headers once" ${default})

# gcc collects garbage whenever its heap has doubled. Joined sources fill about 1 GB of the heap,
# half of which stays alive to the end: without collections their compilation takes a twentieth less
# CPU time, and a third more memory. So the machine needs that memory.
if(OVERTAKE_JOIN_SOURCES AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  cmake_host_system_information(RESULT mebibytes QUERY TOTAL_PHYSICAL_MEMORY)
  math(EXPR mebibytes_each "${mebibytes} / ${processors}")
  if(mebibytes_each GREATER_EQUAL 3072)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1000000>")
  endif()
endif()

# Joins the sources of targets: no name in an anonymous namespace may occur twice in a target.
function(overtake_join_sources)
  if(OVERTAKE_JOIN_SOURCES)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# Gives libraries the precompiled common headers (cmake/common_headers.hpp). Such headers need equal
# options of code generation, as in tools/, where no target has options of its own.
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
    # gcc 12 warns of copies by std::string itself in a precompiled header, but not in a system
    # header that it reads (https://gcc.gnu.org/PR105651).
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endforeach()
endfunction()
