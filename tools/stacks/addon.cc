/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An add-on for node with a slow function: spin(milliseconds). */
#include <node_api.h>

#include <chrono>
#include <cstdint>

namespace stacks
{

__attribute__((noinline)) uint64_t mix(uint64_t value)
{
	for (int i = 0; i < 1000; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	asm volatile("" : "+r"(value));
	return value;
}

__attribute__((noinline)) uint64_t spin(int ms)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
	uint64_t value = 1;

	while (std::chrono::steady_clock::now() < end)
		value = mix(value) + 1;
	return value;
}

} // namespace stacks

static napi_value on_spin(napi_env env, napi_callback_info info)
{
	napi_value argument, ret;
	size_t cnt = 1;
	int32_t ms = 0;

	napi_get_cb_info(env, info, &cnt, &argument, nullptr, nullptr);
	napi_get_value_int32(env, argument, &ms);
	napi_create_double(env, (double)stacks::spin(ms), &ret);
	return ret;
}

static napi_value init(napi_env env, napi_value exports)
{
	napi_value function;

	napi_create_function(env, "spin", NAPI_AUTO_LENGTH, on_spin, nullptr, &function);
	napi_set_named_property(env, exports, "spin", function);
	return exports;
}

NAPI_MODULE(stacks, init)
