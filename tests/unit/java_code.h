/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Assembly of code in the forms that HotSpot generates: a call stub, an interpreter that returns by
 * jumps, compiled code with and without a frame pointer. r12 takes the place of the thread:
 * bytecodes' table at 0, a method (compiled code at 0x50) at 0x100.
 */
#ifndef JANK_TEST_JAVA_CODE_H
#define JANK_TEST_JAVA_CODE_H

#define JAVA_CODE                                                                                  \
	".text\n.globl stub, interp, out, entry, compiled, keeps, last\n"                          \
	".macro enter\n push %rbp\n .byte 0x48, 0x8b, 0xec\n.endm\n"                               \
	"stub: enter\n sub $0x20, %rsp\n mov %rbx, -8(%rbp)\n mov %r13, -16(%rbp)\n"               \
	" mov %rdi, %r12\n mov %rdi, -24(%rbp)\n call entry\n mov -16(%rbp), %r13\n mov "          \
	"-8(%rbp), %rbx\n"                                                                         \
	" mov -32(%rbp), %r12\n lea -0x20(%rbp), %rsp\n add $0x20, %rsp\n pop %rbp\n ret\n"        \
	".balign 32\nentry: pop %rax\n lea (%rsp), %r13\n sub $0x18, %rsp\n push %rax\n enter\n "  \
	"push %r13\n push $0\n sub $0x30, %rsp\n"                                                  \
	" xor %ebx, %ebx\n mov %r12, %r10\n jmp *(%r10,%rbx,8)\n"                                  \
	".balign 32\ninterp: push $7\n pop %rcx\n call 1f\n jmp 2f\n1: lea 8(%rsp), %rax\n nop\n " \
	"ret\n"                                                                                    \
	"2: lea back(%rip), %rdx\n push %rdx\n lea 0x100(%r12), %rbx\n lea 8(%rsp), %r13\n mov "   \
	"%r13, -16(%rbp)\n jmp *0x50(%rbx)\n"                                                      \
	"back: mov -16(%rbp), %rsp\n movq $0, -16(%rbp)\n test %ecx, %ecx\n mov -8(%rbp), %rbx\n " \
	"leave\nout: pop %r13\n .byte 0x48, 0x8b, 0xe3\n jmp *%r13\n"                              \
	".balign 32\ncompiled: mov %eax, -0x1000(%rsp)\n push %rbp\n sub $0x40, %rsp\n mov "       \
	"$0x1234, %ebp\n mov %rbp, 0x10(%rsp)\n"                                                   \
	" pushq 0x10(%rsp)\n popq (%rsp)\n cmp $1, %ebp\n je 9f\n call keeps\n add %rbp, %rax\n "  \
	"pushf\n popf\n mov 0x10(%rsp), %rbp\n"                                                    \
	" add $0x40, %rsp\n pop %rbp\n cmp %rsp, %rsp\n ja 9f\n ret\n9: hlt\n"                     \
	".balign 32\nkeeps: mov %eax, -0x1000(%rsp)\n enter\n sub $0x10, %rsp\n mov $3, %eax\n"    \
	"1: dec %eax\n jne 1b\n add $0x10, %rsp\n pop %rbp\n ret\n"                                \
	".balign 32\nlast: nop\n.section .note.GNU-stack,\"\",@progbits\n"

#endif
