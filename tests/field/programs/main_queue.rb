# SPDX-License-Identifier: GPL-2.0
# As main_queue.py. Ruby's main thread waits in ppoll at a queue and in a sleep.

STALL_S = 0.3
REST_S = 0.7
$queue = Queue.new
$mutex = Mutex.new
$some = ConditionVariable.new
$jobs = []
$stdout.sync = true

def stamp
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def answer(job, begin_ns = 0)
  $stdout.write("#{job} #{begin_ns} #{stamp}\n")
end

def fetch
  $queue.pop
end

def nap
  begin_ns = stamp
  sleep STALL_S
  begin_ns
end

reader = Thread.new do
  while (letter = $stdin.getc)
    $queue << letter
    $mutex.synchronize { $jobs << letter; $some.signal }
  end
end

answer('r')
case ARGV[0]
when 'inline'
  while (job = $queue.pop)
    begin_ns = stamp
    sleep STALL_S if job == 's'
    answer(job, begin_ns)
  end
when 'function'
  while (job = $queue.pop)
    answer(job, job == 's' ? nap : 0)
  end
when 'fetch'
  while (job = fetch)
    begin_ns = stamp
    sleep STALL_S if job == 's'
    answer(job, begin_ns)
  end
when 'timed', 'condition', 'mixed'
  timed = { 'timed' => 1, 'condition' => 0, 'mixed' => 3 }[ARGV[0]]
  (1..).each do |turn|
    job = $mutex.synchronize do
      if timed.positive? && (turn % timed).zero?
        $some.wait($mutex, REST_S) if $jobs.empty?
      else
        $some.wait($mutex) while $jobs.empty?
      end
      $jobs.shift
    end
    next unless job

    begin_ns = stamp
    sleep STALL_S if job == 's'
    answer(job, begin_ns)
  end
when 'sleeps', 'joins', 'waits'
  while (job = $queue.pop) != 'e'
    answer(job)
  end
  answer('e')
  loop { sleep 1 } if ARGV[0] == 'sleeps'
  loop { reader.join(REST_S) } if ARGV[0] == 'joins'
  loop { $mutex.synchronize { $some.wait($mutex, REST_S) } }
end
