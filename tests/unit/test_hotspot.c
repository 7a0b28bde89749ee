/* SPDX-License-Identifier: GPL-2.0 */
/* HotSpot's frames, over a small HotSpot in this process's memory. */
#include "tests/tap.h"
#include "tests/unit/hotspot_image.h"

/* "name:line" of each function, innermost first; "-": the frame has no name. */
static const char *names(const struct frame_place *place)
{
	static char buf[1024];
	size_t len = 0;

	if (!place)
		return "-";
	buf[0] = '\0';
	for (uint32_t i = 0; i < place->cnt; i++)
		len += snprintf(buf + len, sizeof(buf) - len, "%s%s:%u%s", i ? " " : "",
				place->functions[i].function, place->functions[i].line,
				place->functions[i].glue ? " (glue)" : "");
	return buf;
}

static struct native_frame compiled(const struct hotspot_image *im, uint32_t offset, bool exact)
{
	return (struct native_frame){ .pc = vm__addr(im, IMAGE_CODE + offset), .exact = exact };
}

static struct native_frame interpreted(const struct hotspot_image *im, unsigned method,
				       uint32_t bci)
{
	struct native_frame ret = {
		.pc = vm__addr(im, IMAGE_STUBS + 0x40),
		.fp = 0x1000,
		.words = { [2] = vm__addr(im, vm__method(method)) },
	};

	ret.words[im->bytecode_word] = vm__bytecode(im, method) + bci;
	return ret;
}

static void is_named(struct hotspot_image *im, struct native_frame frame, const char *want,
		     const char *what)
{
	const struct frame_place *place = vm__read(im, &frame);

	is_str(names(place), want, "JDK %u%s: %s", im->layout.major,
	       im->bytecode_word == 8 ? ", arm64" : "", what);
}

/* --- numbers and lines */

static uint32_t number(const char *bytes, size_t len, uint8_t excluded, bool *broken)
{
	struct hs_numbers numbers = { .at = (const uint8_t *)bytes,
				      .end = (const uint8_t *)bytes + len,
				      .excluded = excluded };
	uint32_t ret = hs_numbers__next(&numbers);

	*broken = numbers.broken;
	return ret;
}

static void test_numbers(void)
{
	bool broken;

	is_uint(number("\xbf", 1, 0, &broken), 191, "one byte");
	is_uint(number("\xc0\x00", 2, 0, &broken), 192, "two bytes");
	is_uint(number("\xc1\x02", 2, 0, &broken), 193 + 2 * 64, "the second counts 64");
	is_uint(number("\xff\xff\xff\xff\x00", 5, 0, &broken), 255 * (1 + 64 + 4096 + 262144),
		"five bytes are the most");
	is_uint(number("\xbf", 1, 1, &broken), 190, "since JDK 20 each byte is one more");
	is_uint(number("\xc0\x01", 2, 1, &broken), 191, "… and 191 needs a second byte");
	ok(!broken, "… which is there");
	number("\xc0", 1, 1, &broken);
	ok(broken, "a number that is cut is none");
	number("\0", 1, 1, &broken);
	ok(broken, "since JDK 20 no byte is 0");
	number("", 0, 0, &broken);
	ok(broken, "nothing is no number");
}

static void test_lines(void)
{
	static const uint8_t table[] = { 0 << 3 | 3, 4 << 3 | 1, 0xff, 40, 40, 0xff, 10, 9, 0 };
	static const uint8_t late[] = { 2 << 3 | 5, 0 };

	is_uint(hs_lines__find(table, sizeof(table), 0, 0), 3, "the first line");
	is_uint(hs_lines__find(table, sizeof(table), 0, 3), 3, "… up to the next entry");
	is_uint(hs_lines__find(table, sizeof(table), 0, 4), 4, "the entry itself");
	is_uint(hs_lines__find(table, sizeof(table), 0, 24), 24, "a long pair");
	is_uint(hs_lines__find(table, sizeof(table), 0, 29), 19, "a line further up");
	is_uint(hs_lines__find(table, 4, 0, 4), 0, "a table that is cut has none");
	is_uint(hs_lines__find(late, sizeof(late), 0, 1), 0, "before the first entry");
	is_uint(hs_lines__find((const uint8_t *)"", 1, 0, 1), 0, "an empty table");
}

/* --- the interpreter */

static void test_interpreter(struct hotspot_image *im)
{
	struct native_frame frame = interpreted(im, IMAGE_PRICE, 12);

	is_named(im, frame, "shop.Names.price:31", "a method in the interpreter");
	frame.bytecode = vm__bytecode(im, IMAGE_PRICE) + 3;
	is_named(im, frame, "shop.Names.price:31",
		 "only a running one has its place in a register");
	frame.exact = true;
	is_named(im, frame, "shop.Names.price:30", "… which counts then");
	frame.bytecode = 1;
	is_named(im, frame, "shop.Names.price:31", "a register with something else does not");
	frame.words[im->bytecode_word] = vm__bytecode(im, IMAGE_PRICE) + 20;
	is_named(im, frame, "Interpreter:0 (glue)", "a place beyond the method is none of it");
	frame.words[im->bytecode_word] = -9;
	is_named(im, frame, "Interpreter:0 (glue)", "a small number is no place, and soon known");
	frame = interpreted(im, IMAGE_PRICE, 12);
	frame.borrowed = true;
	is_named(im, frame, "Interpreter:0 (glue)", "a frame that is not set up is its caller's");
	frame = interpreted(im, IMAGE_PRICE, 12);
	frame.words[2] += 16;
	is_named(im, frame, "Interpreter:0 (glue)", "a word that points to no method");
	vm__set(im, vm__method(IMAGE_PRICE) + 40, 0x100, 2);
	frame = interpreted(im, IMAGE_PRICE, 1000);
	is_named(im, frame, "shop.Names.price:0", "a native method has no place");
	vm__fill(im);
	vm__set(im, IMAGE_CLASS + 0x100 + 232, 0, 8);
	is_named(im, interpreted(im, IMAGE_PRICE, 1), "-", "a class with another pool");
	vm__fill(im);
	vm__set(im, IMAGE_CLASS + 0x280 + 4 + 3, 7, 1);
	is_named(im, interpreted(im, IMAGE_PRICE, 1), "-", "a name that is not of a name's type");
	vm__fill(im);
	vm__set(im, IMAGE_CLASS + 0x300 + 0xc0 + 6, '/', 1);
	is_named(im, interpreted(im, IMAGE_PRICE, 1), "-", "a name that cannot be");
	vm__fill(im);
	vm__symbol(im, IMAGE_CLASS + 0x300, "shop/Names$$Lambda$14+0x0000000800c03000");
	is_named(im, interpreted(im, IMAGE_PRICE, 1), "shop.Names$$Lambda.price:30",
		 "numbers and addresses of hidden classes go");
	vm__fill(im);
}

/* --- compiled code */

/* 10: handle → checkout → price; 20: handle → checkout; 30: handle elsewhere */
static void add_tables(struct hotspot_image *im)
{
	uint32_t outer = vm__scope(im, 0, IMAGE_HANDLE, 3);
	uint32_t middle = vm__scope(im, outer, IMAGE_CHECKOUT, 2);
	uint32_t inner = vm__scope(im, middle, IMAGE_PRICE, 15);
	uint32_t next = vm__scope(im, outer, IMAGE_CHECKOUT, 12);
	uint32_t other = vm__scope(im, 0, IMAGE_HANDLE, 11);

	vm__pc(im, -1, 0);
	vm__pc(im, 10, inner);
	vm__pc(im, 20, next);
	vm__pc(im, 30, next);
	vm__pc(im, 40, other);
	vm__pc(im, INT32_MAX, 0);
}

static void test_compiled(struct hotspot_image *im)
{
	is_named(im, compiled(im, 10, false), "shop.Names.handle:0", "code without tables");
	vm__fill(im);
	add_tables(im);
	is_named(im, compiled(im, 10, false),
		 "shop.Names.price:31 shop.Names.checkout:20 shop.Names.handle:10",
		 "where a call returns: inlined methods");
	is_named(im, compiled(im, 40, false), "shop.Names.handle:11", "… and the method alone");
	is_named(im, compiled(im, 25, true), "shop.Names.checkout:21 shop.Names.handle:10",
		 "running between two entries that agree");
	is_named(im, compiled(im, 15, true), "shop.Names.checkout:0 shop.Names.handle:10",
		 "… that agree on a method, not on its line");
	is_named(im, compiled(im, 35, true), "shop.Names.handle:0", "… that agree on nothing else");
	is_named(im, compiled(im, 5, true), "shop.Names.handle:0", "before the first entry");
	is_named(im, compiled(im, 45, true), "shop.Names.handle:0", "behind the last entry");
	is_named(im, compiled(im, 25, false), "shop.Names.checkout:21 shop.Names.handle:10",
		 "a call without an entry is like a running place");
	is_named(im, (struct native_frame){ .pc = vm__addr(im, IMAGE_STUB + 16 + 140) },
		 "HotSpot stub:0 (glue)", "HotSpot's own code");
	is_named(im, (struct native_frame){ .pc = vm__addr(im, IMAGE_STUB + 0x400) }, "-",
		 "free memory");
	is_named(im, (struct native_frame){ .pc = vm__addr(im, 0) }, "-", "outside of the heap");
	is_named(im, compiled(im, 600, true), "-", "behind the code");
}

static void test_frame_sizes(struct hotspot_image *im)
{
	uint32_t stub = IMAGE_STUB + 16, code = IMAGE_BLOCK + 16;

	vm__fill(im);
	is_uint(vm__frame_size(im, stub + 140), FRAME_BY_POINTER, "a stub without a size");
	vm__set(im, stub + 84, 144, 4);
	vm__set(im, code + 84, 6, 4);
	is_uint(vm__frame_size(im, stub + 140), 1152, "a stub's frame");
	is_uint(vm__frame_size(im, IMAGE_CODE + 10), 48, "a compiled method's");
	vm__set(im, code + 84, UINT32_MAX, 4);
	is_uint(vm__frame_size(im, IMAGE_CODE + 10), 0, "a size that cannot be");
	is_uint(vm__frame_size(im, IMAGE_STUB + 0x400), 0, "free memory has none");
}

static void test_unloaded(struct hotspot_image *im)
{
	vm__fill(im);
	add_tables(im);
	is_named(im, compiled(im, 40, false), "shop.Names.handle:11", "a method");
	vm__set(im, IMAGE_BLOCK + 8, 0, 1);
	is_named(im, compiled(im, 40, false), "-", "… whose code was freed");
	vm__set(im, IMAGE_BLOCK + 8, 1, 1);
	vm__set(im, IMAGE_BLOCK + 16 + 304, 4712, 4);
	vm__set(im, IMAGE_BLOCK + 16 + 112, vm__addr(im, vm__method(IMAGE_PRICE)), 8);
	is_named(im, compiled(im, 40, false), "shop.Names.price:0",
		 "… and made for another method: the tables do not fit it");
}

static void test_broken(struct hotspot_image *im)
{
	uint32_t at;

	vm__fill(im);
	at = vm__scope(im, 4, IMAGE_HANDLE, 3);
	vm__scope(im, 4, IMAGE_PRICE, 3);
	vm__pc(im, -1, 0);
	vm__pc(im, 10, 4);
	vm__pc(im, 20, at);
	vm__pc(im, INT32_MAX, 0);
	is_named(im, compiled(im, 10, false), "shop.Names.handle:0", "a scope in itself");
	is_named(im, compiled(im, 20, false), "shop.Names.handle:0", "a scope in a later one");
	vm__fill(im);
	add_tables(im);
	vm__set(im, vm__method(IMAGE_PRICE) + 8, 0, 8);
	is_named(im, compiled(im, 10, false), "-", "an inlined method that is none");
	is_named(im, compiled(im, 40, false), "shop.Names.handle:11",
		 "… does not matter elsewhere");
	vm__fill(im);
	vm__set(im, IMAGE_MIRROR + 0x10, 0, 4);
	is_named(im, compiled(im, 10, false), "-", "a JVM without heaps yet");
	vm__set(im, IMAGE_MIRROR + 0x10, 1, 4);
	is_named(im, compiled(im, 10, false), "shop.Names.handle:0", "… has them later");
}

int main(void)
{
	struct hotspot_image im;

	test_numbers();
	test_lines();
	for (enum image_shape shape = 0; shape < IMAGE_SHAPES; shape++) {
		vm__begin(&im, shape);
		test_interpreter(&im);
		test_compiled(&im);
		test_frame_sizes(&im);
		test_unloaded(&im);
		test_broken(&im);
		vm__end(&im);
	}
	return tap__done();
}
