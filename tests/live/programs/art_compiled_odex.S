// SPDX-License-Identifier: GPL-2.0
// A file of compiled methods as dex2oat writes them without mini debug info: no symbols, no unwind
// tables. Five methods, `oatdata` is the table of their begins. Before each are its CodeInfo (flags,
// size of the code, of the frame, saved registers, ...; ART's stack_map.h) and its header.
// A method gets itself and a pair of its chain; it calls the method of the next pair. It keeps no
// frame pointer, and reading the code does not tell the way to its return.
	.text
	.balign 16
#ifdef __x86_64__
#define SAVED 0x10020 // rbp; the return address
#define SAVED_BYTES 3
	.macro method nr
	push %rbp
	sub $16, %rsp
	mov %rdi, (%rsp)
	mov $17, %ebp
	add $16, %rsi
	mov (%rsi), %rdi
	call *8(%rsi)
	lea 2(%rip), %rax
	jmp *%rax
	add $16, %rsp
	pop %rbp
	ret
	.endm
#elif defined(__i386__)
#define SAVED 0x120 // ebp; the return address
#define SAVED_BYTES 2
	.macro method nr
	push %ebp
	sub $24, %esp
	mov %eax, (%esp)
	mov $17, %ebp
	add $8, %edx
	mov (%edx), %eax
	call *4(%edx)
	add $24, %esp
	pop %ebp
	ret
	.endm
#elif defined(__arm__)
	.thumb
	.syntax unified
	.eabi_attribute 28, 1 // floats in registers, as in the C library
#define SAVED 0x4020 // r5, lr
#define SAVED_BYTES 2
	.macro method nr
	push {r5, lr}
	sub sp, #24
	str r0, [sp]
	adds r1, #8
	ldr r0, [r1]
	ldr r2, [r1, #4]
	blx r2
	add sp, #24
	pop {r5, pc}
	.endm
#else
#define SAVED 0x60000000 // x29, x30
#define SAVED_BYTES 4
	.macro method nr
	str x0, [sp, #-32]!
	stp x29, x30, [sp, #16]
	mov x29, #17
	add x1, x1, #16
	ldp x0, x2, [x1]
	blr x2
	adr x3, .+8
	br x3
	ldp x29, x30, [sp, #16]
	add sp, sp, #32
	ret
	.endm
#endif

	.macro entry nr
	.balign 16
7:	.long 12 << 4 | 2 << 8 | (11 + SAVED_BYTES) << 12 | 3 << 20 | ((9f - 8f) & 15) << 28
	.long (9f - 8f) >> 4 | (SAVED << 4 & 0xffffffff), SAVED >> 28
	.balign 16
	.zero 12
	.long 0x40000000 | (8f - 7b)
8:	method \nr
9:	.section .rodata
	.long 8b - oatdata, 9b - 8b
	.text
	.endm

	.section .rodata
	.balign 8
	.globl oatdata
	.type oatdata, %object
oatdata:
	.text
	entry 0
	entry 1
	entry 2
	entry 3
	entry 4
	.section .rodata
	.size oatdata, . - oatdata
	.section .note.GNU-stack, "", %progbits
