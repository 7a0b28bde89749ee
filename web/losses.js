// SPDX-License-Identifier: GPL-2.0-or-later
// The words of states; what a loss takes, and what it means. Made by `make docs-record` of schema/: do not edit.

export const STATES = ["running", "runnable", "futex", "disk", "sleep", "poll", "socket", "pipe", "binder", "page_fault", "stopped", "other"];

export const LOSSES = {
  ring_full: ["blocks", "Records of blocks, hangs or loops that found no room in the ring buffer: whole blocks are missing. Raise --threshold, or trace fewer processes."],
  samples_shed: ["detail", "Stacks that were dropped to keep room for blocks in the ring buffer, or not taken because the block ended before all probes were attached (in the first half second of a trace): the time account is right, some stacks are missing."],
  thread_table_full: ["blocks", "Threads without state in the kernel's table: they were not traced at all."],
  wakeup_missed: ["times", "Wake-ups that no probe saw: some runnable time is counted as blocked, or a span is missing."],
  loop_changed: ["blocks", "Open dispatches that were given up because their thread left its loop, or because the begin of its wait was missed: a block may be missing."],
  stack_failed: ["detail", "Samples of which no frame could be read."],
  evidence_shed: ["detail", "Stacks of other threads, for which this one waited, that found no room: the chain may be shorter."],
  stack_copies_shed: ["detail", "Copies of user stacks that found no room: these stacks were walked by frame pointers and may end early."],
  bad_records: ["times", "Records from the kernel that contradict themselves."],
  unknown_records: ["blocks", "Records of a kind that this version does not know."],
  samples_capped: ["detail", "Samples that were left out because the evidence of a block, or of all open ones, was too large, or because the run ended. Each state's longest span, the first and last sample and an even spread are kept first; the time account is exact."],
  preemptors_capped: ["detail", "Time slices of threads beyond the 64 preemptors that a block keeps, and waits for a CPU with less than 7/8 of their time in a CPU's log of slices, which may not reach back so far. The list is not complete."],
  threads_capped: ["detail", "Threads beyond the limit of what user space keeps: their blocks lack stacks."],
  evidence_capped: ["detail", "Evidence of other threads beyond the memory limit: chains may be shorter."],
  queue_full: ["blocks", "Blocks that were dropped because they came faster than they could be named and written. Raise --threshold, lower --frequency, or send the output to a faster place."],
  unwritten_records: ["blocks", "Records that a sink could not write, for example because the disk is full."],
  unwritten_journal: ["blocks", "Records that the journal could not take: its replay will miss them."],
  probes_skipped: ["times", "Probe runs that the kernel skipped because another one ran on that CPU: times may be off, dispatches may be missing."],
  out_of_memory: ["blocks", "Parts that were left out for lack of memory."],
  names_cut_short: ["detail", "Look-ups of names or source lines that took too long: some frames have no name, or no line."],
  reads_unanswered: ["detail", "Reads of a program's memory or files that did not answer within half a second, for example on a FUSE mount: names that depend on them are missing."],
  files_unread: ["detail", "Files of a traced program that were not read, or not to their end: over a limit, or another user's, or behind a link; processes with a version of Node or Java that is not known; and DEX files of an Android app, or interpreted methods in none. Names that depend on them are missing. A message on stderr names the first one of each reason and the remedy."],
  share_exceeded: ["blocks", "Records, stacks and threads of a user who held more than the share while others were traced, too: the summary's over_share has them by user. Raise --threshold, or trace fewer processes of this user."],
  deliver_restarted: ["detail", "Times that the process which writes records ended before the run did, and was started again. It went on with the record under way. A pipe may have got a part of that record twice."],
  namer_restarted: ["detail", "Times that the process which makes names ended, or made no progress, and was started again. What it worked on then has no names. A file that caused this twice is not read again."],
  spool_full: ["blocks", "Records that the spool dropped because it was full, before each backend had them. Give it more room (--spool-max), or repair the backend."],
  namer_forbidden: ["detail", "Ends of that process (namer_restarted) because it made a system call that it must not make: a traced program's file or memory may have taken it over, which gives no more power than SECURITY.md says. A message on stderr names the call. Report it."],
};
