/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the tracer and the process that makes names (jankbpf-name), on a stream socket.
 * The tracer sends a request; the process answers it before it gets the next one. Both run the same
 * program file, so structs are sent as they are.
 *
 * The tracer trusts no answer: sizes have limits, and each text is checked.
 */
#ifndef JANK_NAME_WIRE_H
#define JANK_NAME_WIRE_H

#include "base/strbuf.h"
#include "files/unread.h"
#include "symbol/elf/elf.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors that the process gets, besides stderr. */
#define NAME_SOCKET_FD 0
#define NAME_BROKER_FD 3
#define NAME_MARK_FD   4 /* shared memory: struct module_mark */

#define NAME_REQUEST_MAX (1u << 20)
#define NAME_STACKS_MAX	 (128u << 10) /* bytes of several stacks, before the last one */
#define NAME_ANSWER_MAX	 (64u << 20)
#define NAME_CODE_MAX	 64   /* bytes of code */
#define NAME_THREADS_MAX 4096 /* of an interpreter */

/* Of NAME_CODE. */
#define NAME_CODE_EXACT 1u
#define NAME_CODE_NAMED 2u

/* Functions of symbolizer_ops: the tracer asks NAME, the process does serve_name. */
#define NAME_SYMBOLIZER_OPS(OP)                                                                    \
	OP(PROCESS, process)                                                                       \
	OP(MAPPED, mapped)                                                                         \
	OP(PROCESS_GONE, process_gone)                                                             \
	OP(SCRIPT_THREADS, script_threads)                                                         \
	OP(SCRIPT_NEWEST, script_newest)                                                           \
	OP(SCRIPT_WAIT, script_wait)                                                               \
	OP(STACKS, stacks)                                                                         \
	OP(FUNCTION, function)                                                                     \
	OP(CLASS, class)                                                                           \
	OP(VARIABLE, variable)                                                                     \
	OP(CODE, code)                                                                             \
	OP(KEEP_CODE, keep_code)                                                                   \
	OP(HAS_SECTION, has_section)                                                               \
	OP(UV_POOL, uv_pool)                                                                       \
	OP(CODE_BYTES, code_bytes)                                                                 \
	OP(UNWIND, unwind)                                                                         \
	OP(TRIM, trim)                                                                             \
	OP(REST, rest)

/* Of elffunc_ops; the file is the one that the broker offers. */
#define NAME_ELF_OPS(OP)                                                                           \
	OP(ELF_OPEN, elf_open)                                                                     \
	OP(ELF_FIND, elf_find)                                                                     \
	OP(ELF_SECTION, elf_section)                                                               \
	OP(ELF_CLOSE, elf_close)                                                                   \
	OP(ELF_ENTRY, elf_entry)                                                                   \
	OP(ELF_PACKAGE, elf_package)

#define NAME_OP(NAME, name) NAME_##NAME,
enum name_op { NAME_SYMBOLIZER_OPS(NAME_OP) NAME_ELF_OPS(NAME_OP) NAME_OP_CNT };
#undef NAME_OP

/* In front of the bytes of a request; a, b: small arguments, as the operation needs. */
struct name_request {
	uint32_t op, pid;
	uint64_t a, b;
	uint64_t size;
};

/* In front of the bytes of an answer. */
struct name_answer {
	int64_t res; /* the function's result: 0, -errno, a number or a truth value */
	uint64_t size;
	uint64_t knows;		      /* the request's process is known now */
	uint64_t cut_cnt, leased_cnt; /* see symbolize.h; in total */
	/*
	 * Since the last answer. At the end of the bytes are the path of a leased file, the object
	 * of each reason, and the size of these texts.
	 */
	uint64_t unread[UNREAD_CNT];
};

/*
 * A stack, one of several; its addresses and its interpreter's frames follow. In the answer each
 * has the number of its frames, and the frames; or -errno.
 */
struct name_stack {
	uint64_t t_ns;
	uint32_t kernel_cnt, user_cnt, script_cnt, pad;
};

/* A mapping, one of several (a of the request); its path follows. */
struct name_mapping {
	uint32_t pid, pad;
	struct mapping mapping; /* path: unused */
};

/* A frame; function, module, build id, file and language follow as texts. */
struct name_frame {
	uint64_t address, offset, start;
	uint32_t line;
	uint8_t kernel, inlined, app, pad;
};

/*
 * An unwound stack, one of several; its addresses, functions, dex pcs and module follow. cnt 0: out
 * of memory.
 */
struct name_unwound {
	uint32_t cnt, end, used_sz;
	uint32_t knows; /* as of name_answer, for the copy's process */
	uint32_t script_cnt, dex_cnt;
};

/* struct script_wait: a byte of an answer is no bool. */
struct name_wait {
	uint64_t lock_begin, lock_end;
	uint32_t depth;
	uint8_t for_caller, one_call, pad[2];
};

/* An open ELF file; its executable segments follow (struct elf_segment without its last member). */
struct name_elf {
	uint32_t machine, load_cnt;
	char build_id[BUILD_ID_HEX_SZ];
};

/* --- bytes */

/* What is left of a message. */
struct wire {
	const char *at;
	size_t left;
	bool bad; /* something was missing or invalid; later readings give zeros */
};

/* Bytes inside the message, at any alignment. NULL when they are not there. */
const void *wire__take_bytes(struct wire *wire, size_t size);

/* Copies size bytes. Zeros when they are not there. */
void wire__take(struct wire *wire, void *to, size_t size);

/* A text inside the message, or NULL where NULL was put. */
const char *wire__take_text(struct wire *wire, size_t *ret_len);

/* Adds a text for wire__take_text; NULL is allowed. */
void wire__put_text(struct strbuf *sb, const char *text);

#endif
