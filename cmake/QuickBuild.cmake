# SPDX-License-Identifier: MIT
# This file shortens a first build. The installed libraries and programs keep all their optimisations.
#
# Half of a first build is spent reading the headers of the standard library and of other libraries
# again for each source. Compiling several sources as one, and the headers once for all, saves that
# time. With a compiler cache such as ccache each source is compiled by itself: this is better for
# repeated builds, and shows whether every source includes the headers that it uses.
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

# Gives the libraries in its arguments the precompiled common headers (cmake/common_headers.hpp). They
# fit only libraries with the same options of code generation. In tools/ no target has any of its own.
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
