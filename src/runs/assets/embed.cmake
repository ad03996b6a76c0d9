# Writes OUTPUT, a C++ header with the assets of the report as raw strings. Called at build time:
#   cmake -DOUTPUT=FILE -DSOURCE=FOLDER -P embed.cmake
set(header "// Made from src/runs/assets by embed.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace muster::runs {\n")
foreach(asset "kAssetUplotCss|uPlot.min.css" "kAssetUplotJs|uPlot.iife.min.js" "kAssetReportCss|report.css" "kAssetReportJs|report.js")
  string(REPLACE "|" ";" pair "${asset}")
  list(GET pair 0 name)
  list(GET pair 1 file)
  file(READ "${SOURCE}/${file}" content)
  string(APPEND header "\ninline constexpr std::string_view ${name} = R\"asset(${content})asset\";\n")
endforeach()
string(APPEND header "\n}  // namespace muster::runs\n")
file(WRITE "${OUTPUT}.new" "${header}")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
