# What is installed, and how it is packed: `script/package` makes a Debian package and a tarball that runs from any folder.

include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests are not installed, so they need not be built
install(TARGETS paceline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)

# What the program says of itself: the manual's page, and what shells complete by.
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages}/paceline.1.gz ${pages}/paceline ${pages}/_paceline ${pages}/paceline.fish DEPENDS paceline
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND paceline man-page | gzip -9n > ${pages}/paceline.1.gz
  COMMAND paceline completion bash > ${pages}/paceline
  COMMAND paceline completion zsh > ${pages}/_paceline
  COMMAND paceline completion fish > ${pages}/paceline.fish)
add_custom_target(paceline_pages DEPENDS ${pages}/paceline.1.gz)
set(shared ${CMAKE_INSTALL_DATAROOTDIR})
install(FILES ${pages}/paceline.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
install(FILES ${pages}/paceline DESTINATION ${shared}/bash-completion/completions COMPONENT server)
install(FILES ${pages}/_paceline DESTINATION ${shared}/zsh/vendor-completions COMPONENT server)
install(FILES ${pages}/paceline.fish DESTINATION ${shared}/fish/vendor_completions.d COMPONENT server)
install(TARGETS paceline_runtime LIBRARY DESTINATION lib/paceline/python COMPONENT server NAMELINK_SKIP)
install(DIRECTORY runtime/python/paceline DESTINATION lib/paceline/python COMPONENT server PATTERN __pycache__ EXCLUDE)
install(DIRECTORY runtime/cpp/include/paceline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT server)
install(FILES ${CMAKE_BINARY_DIR}/runtime/installed/PacelineConfig.cmake DESTINATION lib/cmake/Paceline COMPONENT server)
install(FILES README.md LICENSE DESTINATION ${shared}/doc/paceline COMPONENT server)
install(DIRECTORY docs/ DESTINATION ${shared}/doc/paceline COMPONENT server
  FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE)
install(DIRECTORY packaging/grafana DESTINATION ${shared}/doc/paceline COMPONENT server)
install(DIRECTORY examples/ DESTINATION ${shared}/doc/paceline/examples COMPONENT server
  PATTERN __pycache__ EXCLUDE)
install(FILES packaging/paceline.service packaging/paceline-jobs.service packaging/paceline-agent.service DESTINATION /lib/systemd/system COMPONENT system)
install(FILES packaging/default DESTINATION /etc/default RENAME paceline COMPONENT system)

set(CPACK_PACKAGE_NAME paceline)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Paceline maintainers <maintainers@paceline.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "shares GPU machines among people who train deep-learning models")
set(CPACK_PACKAGE_DESCRIPTION "Hand it a training script and say what good enough is: it queues, places, resizes and explains. \
One server per machine, one command, no agent to install.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libarchive13, libssl3")  # which are loaded when they are needed
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS curl)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "librsvg2-bin, elfutils")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/packaging/postinst;${CMAKE_SOURCE_DIR}/packaging/prerm;\
${CMAKE_SOURCE_DIR}/packaging/postrm;${CMAKE_BINARY_DIR}/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${CMAKE_BINARY_DIR}/conffiles "/etc/default/paceline\n")
include(CPack)
