# What is installed, and how it is packed: `script/package` makes a Debian package and a tarball that runs from any folder.

include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests are not installed, so they need not be built
install(TARGETS paceline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/paceline COMPONENT server)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/paceline COMPONENT server
  FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/paceline/examples COMPONENT server
  PATTERN __pycache__ EXCLUDE)
install(FILES packaging/paceline.service DESTINATION /lib/systemd/system COMPONENT system)
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
set(CPACK_DEBIAN_PACKAGE_SUGGESTS librsvg2-bin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/packaging/postinst;${CMAKE_SOURCE_DIR}/packaging/prerm;\
${CMAKE_SOURCE_DIR}/packaging/postrm;${CMAKE_BINARY_DIR}/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${CMAKE_BINARY_DIR}/conffiles "/etc/default/paceline\n")
include(CPack)
