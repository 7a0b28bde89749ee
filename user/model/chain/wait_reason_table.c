/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of wait_reason.c. Kernel names are those of 5.10 to 6.18. If compilers inline a
 * function in some builds, the table lists its callers too.
 */
#include "model/chain/wait_reason_table.h"

static const struct wait_reason_rule memory_rules[] = {
	{ "mem_cgroup_handle_over_high", "memory_limit" },
	{ "__mem_cgroup_handle_over_high", "memory_limit" },
	{ "mem_cgroup_oom*", "memory_limit" },
	{ "mem_cgroup_out_of_memory", "memory_limit" },
	{ "try_to_free_mem_cgroup_pages", "memory_limit" },
	{ "compact_zone*", "compaction" },
	{ "try_to_compact_pages", "compaction" },
	{ "__alloc_pages_direct_compact", "compaction" },
	{ "try_to_free_pages", "reclaim" },
	{ "do_try_to_free_pages", "reclaim" },
	{ "__alloc_pages_direct_reclaim", "reclaim" },
	{ "throttle_direct_reclaim", "reclaim" },
	{ "reclaim_throttle", "reclaim" },
	{ "wait_iff_congested", "reclaim" },
	{ "node_reclaim", "reclaim" },
	{ "__node_reclaim", "reclaim" },
	{ "shrink_node*", "reclaim" },
	{ "shrink_lruvec", "reclaim" },
	{ "shrink_zones", "reclaim" },
	{ "shrink_page_list", "reclaim" },
	{ "shrink_folio_list", "reclaim" },
	{ "shrink_inactive_list", "reclaim" },
	{ "shrink_slab*", "reclaim" },
};

static const struct wait_reason_rule kernel_rules[] = {
	{ "request_wait_answer", "fuse" },
	{ "__fuse_request_send", "fuse" },
	{ "fuse_simple_request", "fuse" },
	{ "__fuse_simple_request", "fuse" },
	{ "fuse_readahead", "fuse" },
	{ "rpc_wait_bit_killable", "network_fs" },
	{ "nfs_wait_bit_killable", "network_fs" },
	{ "nfs_wait_on_request", "network_fs" },
	{ "cifs_*", "network_fs" },
	{ "p9_client_rpc", "network_fs" },
	{ "handle_userfault", "userfault" },
	{ "do_swap_page", "swap_in" },
	{ "swapin_readahead", "swap_in" },
	{ "swap_readpage", "swap_in" },
	{ "swap_read_folio*", "swap_in" },
	{ "shmem_swapin*", "swap_in" },
	{ "balance_dirty_pages*", "dirty_limit" },
	{ "ioc_rqos_throttle", "io_limit" },
	{ "blkcg_iolatency_throttle", "io_limit" },
	{ "blkcg_maybe_throttle_current", "io_limit" },
	{ "__blkcg_maybe_throttle_current", "io_limit" },
	{ "blkcg_maybe_throttle_blkg", "io_limit" },
	{ "do_fsync", "fsync" },
	{ "__do_sys_msync", "fsync" },
	{ "ksys_sync", "fsync" },
	{ "fifo_open", "fifo" },
	{ "wait_for_partner", "fifo" },
	{ "flock_lock_inode_wait", "file_lock" },
	{ "posix_lock_inode_wait", "file_lock" },
	{ "locks_lock_inode_wait", "file_lock" },
	{ "fcntl_setlk*", "file_lock" },
	{ "wait_for_vfork_done", "child" },
	{ "kernel_wait4", "child" },
	{ "do_wait", "child" },
	{ "do_freezer_trap", "frozen" },
	{ "cgroup_enter_frozen", "frozen" },
	{ "__refrigerator", "frozen" },
	{ "filemap_fault", "file" },
	{ "rwsem_down_read_slowpath", "kernel_lock" },
	{ "rwsem_down_write_slowpath", "kernel_lock" },
	{ "percpu_rwsem_wait", "kernel_lock" },
	{ "__percpu_down_read", "kernel_lock" },
	{ "__mutex_lock", "kernel_lock" },
	{ "__mutex_lock_slowpath", "kernel_lock" },
	{ "__ww_mutex_lock", "kernel_lock" },
};

/*
 * Matches the interrupt entry. Soft interrupts that a thread causes itself, for example by sending
 * over loopback, are its own work; they enter through __local_bh_enable_ip.
 */
static const struct wait_reason_rule interrupt_rules[] = {
	{ "asm_sysvec_*", "interrupts" },
	{ "sysvec_*", "interrupts" },
	{ "asm_common_interrupt", "interrupts" },
	{ "common_interrupt", "interrupts" },
	{ "__irq_exit_rcu", "interrupts" },
	{ "irq_exit_rcu", "interrupts" },
	{ "irq_exit", "interrupts" },
	{ "el1_irq", "interrupts" },
	{ "el0_irq", "interrupts" },
	{ "el1_interrupt", "interrupts" },
	{ "el0_interrupt", "interrupts" },
	{ "el1h_64_irq", "interrupts" },
	{ "el0t_64_irq", "interrupts" },
	{ "gic_handle_irq", "interrupts" },
};

static const struct wait_reason_rule gc_rules[] = {
	/* V8 */
	{ "*v8::internal::Heap::CollectGarbage", "gc" },
	{ "*v8::internal::Heap::CollectAllGarbage", "gc" },
	{ "*v8::internal::Heap::CollectAllAvailableGarbage", "gc" },
	{ "*v8::internal::Heap::PerformGarbageCollection", "gc" },
	{ "*v8::internal::Heap::Scavenge", "gc" },
	{ "*v8::internal::Heap::MarkCompact", "gc" },
	{ "*v8::internal::Heap::FinalizeIncrementalMarking", "gc" },
	{ "*v8::internal::Scavenger", "gc" },
	{ "*v8::internal::MarkCompactCollector::", "gc" },
	{ "*v8::internal::IncrementalMarking::", "gc" },
	{ "*v8::internal::Sweeper::", "gc" },
	/* HotSpot */
	{ "*VM_G1", "gc" },
	{ "*VM_GenCollect", "gc" },
	{ "*VM_SerialCollect", "gc" },
	{ "*VM_ParallelGC", "gc" },
	{ "*VM_ParallelCollect", "gc" },
	{ "*VM_CollectForMetadataAllocation", "gc" },
	{ "*VM_ShenandoahOperation", "gc" },
	{ "*VM_Shenandoah", "gc" },
	{ "*VM_ZOperation", "gc" },
	{ "*G1CollectedHeap::do_collection", "gc" },
	{ "*G1CollectedHeap::do_full_collection", "gc" },
	{ "*G1CollectedHeap::collect", "gc" },
	{ "*G1YoungCollector::", "gc" },
	{ "*G1FullCollector::", "gc" },
	{ "*GenCollectedHeap::do_collection", "gc" },
	{ "*GenCollectedHeap::collect", "gc" },
	{ "*SerialHeap::do_", "gc" },
	{ "*SerialHeap::collect", "gc" },
	{ "*ParallelScavengeHeap::collect", "gc" },
	{ "*PSParallelCompact::", "gc" },
	{ "*PSScavenge::", "gc" },
	/* Go */
	{ "runtime.GC", "gc" },
	{ "runtime.gcStart*", "gc" },
	{ "runtime.gcAssistAlloc*", "gc" },
	{ "runtime.gcBgMarkWorker*", "gc" },
	{ "runtime.gcMarkDone*", "gc" },
	{ "runtime.gcMarkTermination*", "gc" },
	{ "runtime.gcDrain*", "gc" },
	{ "runtime.scanobject*", "gc" },
	{ "runtime.greyobject*", "gc" },
	{ "runtime.markroot*", "gc" },
	{ "runtime.stopTheWorldGC*", "gc" },
	/* CPython */
	{ "gc_collect_main", "gc" },
	{ "gc_collect_generations", "gc" },
	{ "gc_collect_with_callback", "gc" },
	{ "gc_collect_full", "gc" },
	{ "gc_collect_young", "gc" },
	{ "collect_generations", "gc" },
	{ "collect_with_callback", "gc" },
	{ "PyGC_Collect", "gc" },
	{ "_PyGC_Collect*", "gc" },
	{ "_Py_RunGC", "gc" },
	{ "visit_decref", "gc" }, /* seen if the callers keep no frame pointer */
	{ "visit_reachable", "gc" },
	{ "subtract_refs", "gc" },
	{ "update_refs", "gc" },
	{ "move_unreachable", "gc" },
	{ "deduce_unreachable", "gc" },
	/* ART */
	{ "*art::gc::collector::", "gc" },
	{ "*art::gc::Heap::CollectGarbage", "gc" },
	{ "*art::gc::Heap::WaitForGcToComplete", "gc" },
	/* Ruby */
	{ "garbage_collect", "gc" },
	{ "gc_start", "gc" },
	{ "gc_marks*", "gc" },
	{ "gc_sweep*", "gc" },
	{ "rb_gc", "gc" },
	{ "rb_gc_start", "gc" },
	/* Mono, .NET */
	{ "sgen_collect*", "gc" },
	{ "sgen_perform_collection*", "gc" },
	{ "mono_gc_collect", "gc" },
	{ "*gc_heap::garbage_collect", "gc" },
	{ "*gc_heap::gc1", "gc" },
	{ "*GCHeap::GarbageCollect", "gc" },
	/* Lua, OCaml, Boehm GC, JavaScriptCore, SpiderMonkey, QuickJS, Erlang, PHP */
	{ "luaC_step", "gc" },
	{ "luaC_fullgc", "gc" },
	{ "caml_major_collection_slice", "gc" },
	{ "caml_empty_minor_heap*", "gc" },
	{ "GC_try_to_collect*", "gc" },
	{ "GC_collect_a_little*", "gc" },
	{ "GC_stopped_mark", "gc" },
	{ "*JSC::Heap::collect", "gc" },
	{ "*js::gc::GCRuntime::collect", "gc" },
	{ "JS_RunGC", "gc" },
	{ "erts_garbage_collect*", "gc" },
	{ "zend_gc_collect_cycles", "gc" },
};

static const struct wait_reason_rule runtime_rules[] = {
	{ "runtime.stopTheWorld*", "safepoint" },
	{ "*SafepointSynchronize::block", "safepoint" },
	{ "*SafepointMechanism::process", "safepoint" },
	{ "*VMThread::wait_until_executed", "safepoint" },
	{ "*VMThread::execute", "safepoint" },
	{ "take_gil", "gil" },
	{ "PyEval_RestoreThread", "gil" },
	{ "PyEval_AcquireThread", "gil" },
	{ "gvl_acquire*", "gil" },
	{ "thread_sched_to_running*", "gil" },
	{ "PyThread_acquire_lock*", "mutex" },
	{ "*ObjectMonitor::enter", "mutex" },
	{ "*ObjectMonitor::wait", "condition" },
	{ "*Parker::park", "condition" },
	{ "*art::Monitor::Lock", "mutex" },
	{ "*art::Monitor::Wait", "condition" },
	{ "*QSemaphore::", "semaphore" },
	{ "*QReadWriteLock::", "rwlock" },
};

static const struct wait_reason_rule lock_rules[] = {
	{ "pthread_mutex_*", "mutex" },
	{ "__pthread_mutex_*", "mutex" },
	{ "___pthread_mutex_*", "mutex" },
	{ "__GI___pthread_mutex_*", "mutex" },
	{ "__lll_lock_wait*", "mutex" },
	{ "__GI___lll_lock_wait*", "mutex" },
	{ "lll_mutex_lock*", "mutex" },
	{ "*NonPI::MutexLockWithTimeout", "mutex" },
	{ "*PIMutexTimedLock", "mutex" },
	{ "*::mutex::futex::Mutex::lock_contended", "mutex" },
	{ "*::raw_mutex::RawMutex::lock_slow", "mutex" },
	{ "*art::Mutex::ExclusiveLock", "mutex" },
	{ "*::Mutex::LockSlow", "mutex" },
	{ "*QBasicMutex::lock", "mutex" },
	{ "*QMutex::lock", "mutex" },
	{ "g_mutex_lock*", "mutex" },
	{ "g_rec_mutex_lock*", "mutex" },
	{ "_PyMutex_Lock*", "mutex" },
	{ "PyMutex_Lock*", "mutex" },
	{ "runtime.lock2", "mutex" },
	{ "pthread_cond_*", "condition" },
	{ "__pthread_cond_*", "condition" },
	{ "___pthread_cond_*", "condition" },
	{ "*std::condition_variable::wait", "condition" },
	{ "*::condvar::futex::Condvar::wait", "condition" },
	{ "*::condvar::Condvar::wait", "condition" },
	{ "*__atomic_futex_unsigned_base::", "condition" },
	{ "*art::ConditionVariable::", "condition" },
	{ "*QWaitCondition::wait", "condition" },
	{ "g_cond_wait*", "condition" },
	{ "runtime.notesleep", "condition" },
	{ "pthread_rwlock_*", "rwlock" },
	{ "__pthread_rwlock_*", "rwlock" },
	{ "___pthread_rwlock_*", "rwlock" },
	{ "*RwLock::read_contended", "rwlock" },
	{ "*RwLock::write_contended", "rwlock" },
	{ "*raw_rwlock::RawRwLock::", "rwlock" },
	{ "*art::ReaderWriterMutex::", "rwlock" },
	{ "sem_wait*", "semaphore" },
	{ "sem_timedwait*", "semaphore" },
	{ "sem_clockwait*", "semaphore" },
	{ "__sem_wait*", "semaphore" },
	{ "__new_sem_wait*", "semaphore" },
	{ "do_futex_wait", "semaphore" },
	{ "runtime.semasleep", "semaphore" },
	{ "pthread_join*", "join" },
	{ "__pthread_join*", "join" },
	{ "___pthread_join*", "join" },
	{ "__pthread_clockjoin_ex", "join" },
	{ "__pthread_timedjoin_ex", "join" },
	{ "pthread_timedjoin*", "join" },
	{ "pthread_clockjoin*", "join" },
	{ "pthread_barrier_wait*", "barrier" },
	{ "__pthread_barrier_wait*", "barrier" },
	{ "___pthread_barrier_wait*", "barrier" },
};

static const struct wait_reason_rule wake_rules[] = {
	{ "pthread_cond_signal*", "condition" },
	{ "pthread_cond_broadcast*", "condition" },
	{ "__pthread_cond_signal*", "condition" },
	{ "__pthread_cond_broadcast*", "condition" },
	{ "___pthread_cond_signal*", "condition" },
	{ "___pthread_cond_broadcast*", "condition" },
	{ "pthread_mutex_unlock*", "mutex" },
	{ "__pthread_mutex_unlock*", "mutex" },
	{ "___pthread_mutex_unlock*", "mutex" },
	{ "__lll_lock_wake*", "mutex" },
	{ "pthread_rwlock_unlock*", "rwlock" },
	{ "__pthread_rwlock_unlock*", "rwlock" },
	{ "___pthread_rwlock_unlock*", "rwlock" },
	{ "sem_post*", "semaphore" },
	{ "__sem_post*", "semaphore" },
	{ "__new_sem_post*", "semaphore" },
	{ "pthread_barrier_wait*", "barrier" },
	{ "__pthread_barrier_wait*", "barrier" },
	{ "___pthread_barrier_wait*", "barrier" },
};

static const struct wait_reason_rule resolver_rules[] = {
	{ "getaddrinfo*", "dns" },
	{ "__GI_getaddrinfo*", "dns" },
	{ "gethostbyname*", "dns" },
	{ "__gethostbyname*", "dns" },
	{ "gethostbyaddr*", "dns" },
	{ "getnameinfo", "dns" },
	{ "android_getaddrinfo*", "dns" },
	{ "__res_*", "dns" },
	{ "res_n*", "dns" },
	{ "_nss_dns_*", "dns" },
	{ "_nss_resolve_*", "dns" },
};

/* libuv runs a nested loop until the child has ended and closed its pipes. */
static const struct wait_reason_rule child_rules[] = {
	{ "*node::SyncProcessRunner::", "child" },
};

static const struct wait_reason_rule exit_rules[] = {
	{ "do_notify_parent", "child" },
};

static const struct wait_reason_rule thread_rules[] = {
	{ "GC Thread#*", "gc" },      /* HotSpot */
	{ "ParallelGC*", "gc" },      /* older versions */
	{ "HeapTaskDaemon", "gc" },   /* ART */
	{ "VM Thread", "safepoint" }, /* HotSpot */
};

#define TABLE(of, is_kernel)                                                                       \
	{                                                                                          \
		.rules = of, .cnt = sizeof(of) / sizeof((of)[0]), .kernel = is_kernel              \
	}
const struct wait_reason_table what_of_memory = TABLE(memory_rules, true);
const struct wait_reason_table what_of_kernel = TABLE(kernel_rules, true);
const struct wait_reason_table what_of_interrupts = TABLE(interrupt_rules, true);
const struct wait_reason_table what_of_gc = TABLE(gc_rules, false);
const struct wait_reason_table what_of_runtime = TABLE(runtime_rules, false);
const struct wait_reason_table what_of_lock = TABLE(lock_rules, false);
const struct wait_reason_table what_of_wake = TABLE(wake_rules, false);
const struct wait_reason_table what_of_resolver = TABLE(resolver_rules, false);
const struct wait_reason_table what_of_child = TABLE(child_rules, false);
const struct wait_reason_table what_of_exit = TABLE(exit_rules, true);
const struct wait_reason_table what_of_thread = TABLE(thread_rules, false);
