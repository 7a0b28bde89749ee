# SPDX-License-Identifier: GPL-2.0
require_relative 'stalls'
run lambda { |env|
  stall(env['QUERY_STRING'])
  [200, { 'content-type' => 'text/plain' }, ["done\n"]]
}
