# How every library, program and test of the project is declared, so that flags live in one place.

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  # The sloppiness is what ccache asks for to cache compilations that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      ${MUSTER_CCACHE})
endif()

# What every translation unit is compiled with.
add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns of overlaps in "text" + std::string that can't be (GCC bug 105329).
  target_compile_options(muster_flags INTERFACE -fpch-preprocess -Wno-restrict)
endif()
if(MUSTER_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees uninitialised members in <regex> and std::optional when it instruments them (GCC bugs 105562, 105593).
    target_compile_options(muster_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()

# muster_library(NAME SOURCES… LINK LIBS…): one folder, one static library.
function(muster_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC muster_flags ${ARG_LINK})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE muster_flags ${ARG_LINK})
  endif()
endfunction()

# Tests that the sanitizer builds run: all that link no third-party engine and start none of our programs.
add_custom_target(sanitizer_tests)

# muster_test(NAME SOURCES… LINK LIBS… [LABELS L…] [STARTS_PROGRAMS]): one GoogleTest program, its cases found when ctest runs.
# Property tests draw their cases from a fixed seed, so that a change is judged by the same cases each time; the
# conformance suite `properties` draws new ones.
function(muster_test name)
  cmake_parse_arguments(ARG "STARTS_PROGRAMS" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE MUSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}" MUSTER_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE muster_flags ${ARG_LINK} GTest::gtest_main rapidcheck rapidcheck_gtest)
  set(torch ${ARG_LINK})
  list(FILTER torch INCLUDE REGEX "^(muster_comm|muster_model|muster_parallel|muster_train|muster_score|muster_test_jobs)$")
  if(NOT torch AND NOT ARG_STARTS_PROGRAMS AND NOT "e2e" IN_LIST ARG_LABELS)
    list(APPEND ARG_LABELS sanitizer)
    add_dependencies(sanitizer_tests ${name})
  endif()
  # One string, since a list does not survive the discovery; `ctest -L` matches within it.
  list(JOIN ARG_LABELS " " labels)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}" ENVIRONMENT "RC_PARAMS=seed=20261130")
endfunction()
