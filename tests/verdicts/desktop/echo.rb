# SPDX-License-Identifier: GPL-2.0
# EventMachine answers each line with itself.

module Echo
  def receive_data(data)
    send_data(data)
  end
end

EventMachine.run { EventMachine.start_server('127.0.0.1', ARGV[0].to_i, Echo) }
