# SPDX-License-Identifier: GPL-2.0
# Stalls of known methods, three calls deep, as stalls.js. A line of stdin names one; "done" answers.
# The marks @name are at the lines in which each takes its time. ARGV: a FIFO.
require 'json'

STALL_S = 0.09
$text = JSON.generate((0...60_000).map { |i| { id: i, name: "name #{i}" } })
$lock = Mutex.new

def spin(finish)
  x = 0
  x += x * x & 7 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @busy
  x
end

def compute(seconds)
  spin(Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds) + 1
end

def busy
  compute(STALL_S)
end

def parse_catalog
  JSON.parse($text).size + JSON.parse($text).size # @json
end

def check_name
  /^(a+)+$/.match?("#{'a' * 22}b") # @regex
end

def load_config
  File.read(ARGV[0]).size # @fifo
end

def take_lock
  held = Queue.new
  Thread.new { $lock.synchronize { held << 1; sleep 0.12 } }
  held.pop
  $lock.synchronize { 0 } # @lock
end

def compare_rows(x, y)
  20.times { |i| $sum = x ^ i } # @sort
  x <=> y
end

def sort_rows
  (0...12_000).map { |i| i * 7919 % 60_013 }.sort { |x, y| compare_rows(x, y) }.size
end

def descend(depth)
  if depth.zero?
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + STALL_S
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @recursion
    return 0
  end
  1 + descend(depth - 1)
end

class Catalog
  def rebuild
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + STALL_S
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @method
  end
end

def make_catalog
  Catalog.new.rebuild
end

def per_request
  closure = lambda do |seconds|
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @closure
  end
  closure.call(STALL_S)
end

def grow
  kept = (0...400_000).map { |i| [i, [i]] } # @collection
  GC.start
  kept.size
end

CASES = { 'busy' => :busy, 'json' => :parse_catalog, 'regex' => :check_name, 'fifo' => :load_config, 'lock' => :take_lock,
          'sort' => :sort_rows, 'recursion' => :recursion, 'method' => :make_catalog, 'closure' => :per_request,
          'collection' => :grow }.freeze

def recursion
  descend(60)
end

def on_command(name)
  send(CASES.fetch(name))
  $stdout.write("done\n")
end

$stdout.sync = true
$stdout.write("ready\n")
loop do
  IO.select([$stdin])
  line = $stdin.gets or break
  on_command(line.strip)
end
