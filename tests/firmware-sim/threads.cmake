# SPDX-License-Identifier: MIT
# The firmware between threads, under the thread sanitizer in every build without another sanitizer.
# Each barrier of its queues is also left out once: then the sanitizer has to see a race.
if(CMAKE_BUILD_TYPE STREQUAL Coverage OR (OVERTAKE_SANITIZE AND NOT OVERTAKE_SANITIZE STREQUAL thread))
  return()
endif()
find_package(Threads REQUIRED)
find_program(OVERTAKE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

set(firmware ${PROJECT_SOURCE_DIR}/firmware-sim)
file(GLOB threaded_sources CONFIGURE_DEPENDS ${firmware}/fw/*.c ${firmware}/*.c ${hw}/*.c ${simd})
add_library(overtake_firmware_threaded STATIC ${threaded_sources})
target_include_directories(overtake_firmware_threaded PUBLIC
  ${firmware} ${PROJECT_SOURCE_DIR}/uapi ${PROJECT_SOURCE_DIR}/libruntime/port)
target_compile_options(overtake_firmware_threaded PUBLIC -fsanitize=thread)
target_link_options(overtake_firmware_threaded PUBLIC -fsanitize=thread)
target_link_libraries(overtake_firmware_threaded PUBLIC Threads::Threads)

add_library(threads_of_test OBJECT test_threads.c)
target_link_libraries(threads_of_test PRIVATE overtake_firmware_threaded)

# threaded_test(NAME SOURCE...): functions that a SOURCE defines replace those of the library.
function(threaded_test name)
  add_executable(${name} $<TARGET_OBJECTS:threads_of_test> ${ARGN})
  target_link_libraries(${name} PRIVATE overtake_firmware_threaded ${CMOCKA_LIBRARY})
  add_dependencies(firmware_sim_tests ${name})
endfunction()

threaded_test(test_threads)
add_test(NAME firmware-sim.threads
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run-threads $<TARGET_FILE:test_threads>)

set(accesses ${PROJECT_SOURCE_DIR}/tests/protocol/queue_accesses.py)
execute_process(COMMAND ${OVERTAKE_PYTHON} -B ${accesses} barriers
  OUTPUT_VARIABLE barriers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" barriers "${barriers}")
foreach(barrier IN LISTS barriers)
  set(weak ${CMAKE_CURRENT_BINARY_DIR}/without/${barrier}.c)
  add_custom_command(OUTPUT ${weak}
    COMMAND ${OVERTAKE_PYTHON} -B ${accesses} without ${barrier} ${firmware}/fw/queue.c > ${weak}
    DEPENDS ${accesses} ${firmware}/fw/queue.c
    VERBATIM)
  threaded_test(test_threads_without-${barrier} ${weak})
  list(APPEND weakened $<TARGET_FILE:test_threads_without-${barrier}>)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/without)
add_test(NAME firmware-sim.threads_race_without_each_barrier
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run-threads --races ${weakened})
set_tests_properties(firmware-sim.threads firmware-sim.threads_race_without_each_barrier PROPERTIES
  SKIP_RETURN_CODE 77)
