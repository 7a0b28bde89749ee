# SPDX-License-Identifier: GPL-2.0
# Requests of ?kind=plain, cpu, sleep or child, for a Rack server; by itself, a server that takes one connection after the other.

KINDS = {
  'cpu' => -> { finish = now + 150_000_000; nil while now < finish },
  'sleep' => -> { sleep 0.15 },
  'child' => -> { system('sleep', '0.15') },
  'plain' => -> {},
}

def now
  Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
end

def stall(query)
  kind = query[/kind=(\w+)/, 1]
  start = now
  KINDS.fetch(kind).call
  File.open(ENV['STALLS_FILE'], 'a') { |file| file.write("#{start} #{now} #{kind}\n") } if kind != 'plain'
end

def serve(port)
  server = TCPServer.new('127.0.0.1', port)
  loop do
    client = server.accept
    stall(client.gets)
    client.write("HTTP/1.0 200 OK\r\n\r\ndone\n")
    client.close
  end
end

if $PROGRAM_NAME == __FILE__
  require 'socket'
  serve(ARGV[0].to_i)
end
