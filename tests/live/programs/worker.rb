# SPDX-License-Identifier: GPL-2.0
# As worker.py. "pool": the worker waits on a condition variable in a synchronized block, as puma's
# threads do. Of Ruby's sleeping threads one waits for signals, too, by ppoll, the others by a futex:
# after the job "p" it is the worker, after "f" it is not. Otherwise chance decides.

STALL_S = 0.15
TURN_S = 0.03
$lock = Mutex.new
$done = Queue.new

def nap
  sleep STALL_S
end

def spin
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + STALL_S
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end

def take_lock
  $lock.synchronize {}
end

def handle(job)
  { 's' => -> { nap }, 'b' => -> { spin }, 'l' => -> { take_lock }, 'p' => -> {},
    'f' => -> { sleep TURN_S / 3 } }.fetch(job).call
  $done << job
end

# A queue made of a mutex and a condition variable.
class Jobs
  def initialize
    @mutex = Mutex.new
    @some = ConditionVariable.new
    @jobs = []
  end

  def <<(job)
    @mutex.synchronize do
      @jobs << job
      @some.signal
    end
  end

  def work
    loop do
      job = nil
      @mutex.synchronize do
        @some.wait(@mutex) while @jobs.empty?
        job = @jobs.shift
      end
      handle(job)
    end
  end
end

if ARGV[0] == 'pool'
  $jobs = Jobs.new
  Thread.new { $jobs.work }
else
  $jobs = Queue.new
  Thread.new { loop { handle($jobs.pop) } }
end

$stdout.sync = true
$stdout.write('r')
while (letter = $stdin.getc)
  if letter == 'l'
    $lock.synchronize do
      $jobs << letter
      sleep STALL_S
    end
  else
    $jobs << letter
    sleep TURN_S if letter == 'f'
    Thread.pass while letter == 'p' && $done.empty?
  end
  $stdout.write($done.pop)
end
