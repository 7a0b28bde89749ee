/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions of all maps and globals of the probes. */
#include "bpf/maps.bpf.h"

const volatile struct jank_conf jank_conf = {};

struct jank_threads_map jank_threads SEC(".maps");
#ifdef JANK_PLAIN
struct jank_blank_map jank_blank SEC(".maps");
#endif
struct jank_tgids_map jank_tgids SEC(".maps");
struct jank_limits_map jank_limits SEC(".maps");
struct jank_pollers_map jank_pollers SEC(".maps");
struct jank_parkers_map jank_parkers SEC(".maps");
struct jank_left_map jank_left SEC(".maps");
struct jank_parks_map jank_parks SEC(".maps");
struct jank_park_gen_map jank_park_gen SEC(".maps");
struct jank_openings_map jank_openings SEC(".maps");
struct jank_execs_map jank_execs SEC(".maps");
struct jank_startups_map jank_startups SEC(".maps");
struct jank_startup_blank_map jank_startup_blank SEC(".maps");
struct jank_scripts_map jank_scripts SEC(".maps");
struct jank_script_any_map jank_script_any SEC(".maps");
struct jank_globs_map jank_globs SEC(".maps");
struct jank_cgroups_map jank_cgroups SEC(".maps");
struct jank_tails_map jank_tails SEC(".maps");
struct jank_marks_map jank_marks SEC(".maps");
struct jank_shares_map jank_shares SEC(".maps");
struct jank_ring_map jank_ring SEC(".maps");
struct jank_lost_map jank_lost SEC(".maps");
struct jank_slices_map jank_slices SEC(".maps");
struct jank_others_map jank_others SEC(".maps");
struct jank_rests_map jank_rests SEC(".maps");
struct jank_nests_map jank_nests SEC(".maps");
struct jank_watch_map jank_watch SEC(".maps");
struct jank_copies_map jank_copies SEC(".maps");
struct jank_deep_copies_map jank_deep_copies SEC(".maps");
struct jank_other_copies_map jank_other_copies SEC(".maps");
struct jank_copy_szs_map jank_copy_szs SEC(".maps");
struct jank_copy_deep_map jank_copy_deep SEC(".maps");
struct jank_scratch_map jank_scratch SEC(".maps");
struct jank_look_map jank_look SEC(".maps");
struct jank_vblanks_map jank_vblanks SEC(".maps");
struct jank_history_map jank_history SEC(".maps");
struct jank_history_heads_map jank_hist_heads SEC(".maps");

__u64 jank_threshold_ns = 0;
__u32 jank_reduced = 0;
__u32 jank_cgroup_cnt = 0;
__u32 jank_share_user_cnt = 0;
#ifdef JANK_PLAIN
__u64 jank_thread_cnt = 0;
#endif
__u64 jank_asks_ns = 0;
__u32 jank_asks_cnt = 0;
__u32 jank_watch_on = 0;
__u64 jank_watch_start_ns = 0;
__u64 jank_watch_rest_ns = JANK_OTHER_SHORT_NS;
__u64 jank_queue_off_ns = 0;
__u64 jank_watch_group = 0;
__u64 jank_waiter_ns[JANK_WAITER_MAX] = {};
__u32 jank_waiter_tid[JANK_WAITER_MAX] = {};
__u64 jank_waiter_since_ns[JANK_WAITER_MAX] = {};
__u64 jank_waiter_left_ns[JANK_WAITER_MAX] = {};

char LICENSE[] SEC("license") = "GPL";
