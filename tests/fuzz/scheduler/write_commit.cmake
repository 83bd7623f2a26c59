# SPDX-License-Identifier: MIT
# Writes OUTPUT, a header with the checked-out commit of SOURCE, if the commit has changed.
execute_process(
  COMMAND git describe --always --dirty --abbrev=12
  WORKING_DIRECTORY ${SOURCE}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
)
if(NOT commit)
  set(commit unknown) # not a checkout
endif()
set(text "#define OVERTAKE_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL "${old}")
  file(WRITE ${OUTPUT} ${text})
endif()
