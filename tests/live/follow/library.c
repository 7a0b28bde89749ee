/* SPDX-License-Identifier: GPL-2.0 */
/* A library with two marks. It needs no relocation, so a test can map it by hand. */
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
