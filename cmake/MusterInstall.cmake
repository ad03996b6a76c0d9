# install and the Debian packages: `muster` (the program, its exporter and its data) and `muster-engine` (the native engine, which needs libtorch).

install(TARGETS muster muster-exporter RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT muster)
install(DIRECTORY facts architectures ami_and_containers test_cases micro-benchmarks validation_and_observability DESTINATION ${CMAKE_INSTALL_DATADIR}/muster COMPONENT muster)

# Completions and the man page come out of the program's own option tables.
set(generated ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${generated}/muster.bash ${generated}/_muster ${generated}/muster.fish ${generated}/muster.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND $<TARGET_FILE:muster> completion bash > ${generated}/muster.bash
  COMMAND $<TARGET_FILE:muster> completion zsh > ${generated}/_muster
  COMMAND $<TARGET_FILE:muster> completion fish > ${generated}/muster.fish
  COMMAND $<TARGET_FILE:muster> man > ${generated}/muster.1
  DEPENDS muster
  COMMENT "Writing completions and the man page"
  VERBATIM)
add_custom_target(muster_generated ALL DEPENDS ${generated}/muster.1)
install(FILES ${generated}/muster.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME muster COMPONENT muster)
install(FILES ${generated}/_muster DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT muster)
install(FILES ${generated}/muster.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT muster)
install(FILES ${generated}/muster.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT muster)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT muster)

if(MUSTER_ENGINE)
  install(TARGETS muster-train muster-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT muster-engine)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR "The Muster project")
set(CPACK_PACKAGE_CONTACT "The Muster maintainers <maintainers@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL muster)
if(MUSTER_ENGINE)
  list(APPEND CPACK_COMPONENTS_ALL muster-engine)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MUSTER_PACKAGE_NAME muster)
set(CPACK_DEBIAN_MUSTER_PACKAGE_SECTION science)
# Loaded when it is first asked for, so that no library dependency names it.
set(CPACK_DEBIAN_MUSTER_PACKAGE_DEPENDS "libcurl4")
set(CPACK_DEBIAN_MUSTER-ENGINE_PACKAGE_NAME muster-engine)
set(CPACK_DEBIAN_MUSTER-ENGINE_PACKAGE_SECTION science)
# openmpi-bin brings mpirun, which no library dependency names.
set(CPACK_DEBIAN_MUSTER-ENGINE_PACKAGE_DEPENDS "muster (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_MUSTER-ENGINE_DESCRIPTION "Native training engine of muster")
set(CPACK_STRIP_FILES ON)
include(CPack)
