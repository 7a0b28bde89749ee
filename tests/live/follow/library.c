/* SPDX-License-Identifier: GPL-2.0 */
/* A library with two marks: it needs no relocation, so that it can be mapped by hand. */
void follow_message(long tag);
void follow_other(long tag);

void follow_message(long tag)
{
	__asm__ volatile("" ::"r"(tag) : "memory");
}

void follow_other(long tag)
{
	__asm__ volatile("" ::"r"(tag), "r"(1) : "memory");
}
