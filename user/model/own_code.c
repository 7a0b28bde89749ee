/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/own_code.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* Directories in which each package has one of its own, after so many further components. */
static const struct {
	const char *path;
	unsigned components;
} places[] = {
	{ "/usr/lib/", 1 },
	{ "/usr/lib64/", 1 },
	{ "/usr/lib32/", 1 },
	{ "/lib/", 1 },
	{ "/lib64/", 1 },
	{ "/usr/libexec/", 1 },
	{ "/usr/share/", 1 },
	{ "/usr/local/lib/", 1 },
	{ "/usr/local/lib64/", 1 },
	{ "/usr/local/", 1 },
	{ "/usr/local/libexec/", 1 },
	{ "/opt/", 1 },
	{ "/srv/", 1 },
	{ "/snap/", 1 },
	{ "/home/", 2 },
	{ "/root/", 1 },
	{ "/tmp/", 1 },
	{ "/var/tmp/", 1 },
	{ "/var/lib/", 1 },
	{ "/nix/store/", 1 },
	{ "/gnu/store/", 1 },
};

/* Directories that are no package, as a component of the above or at the top. */
static const char *const shared_names[] = {
	"bin",	 "sbin", "lib",	  "lib64",  "lib32",  "libexec", "games",      "include",
	"share", "usr",	 "local", "system", "vendor", "product", "system_ext", "odm",
};

static bool is_one_of(const char *name, size_t len, const char *const *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (strlen(list[i]) == len && !strncmp(name, list[i], len))
			return true;
	return false;
}

static bool is_shared_name(const char *name, size_t len)
{
	return is_one_of(name, len, shared_names, sizeof(shared_names) / sizeof(*shared_names));
}

/* "x86_64-linux-gnu": libraries of one architecture, of all packages. */
static bool is_triplet(const char *name, size_t len)
{
	static const char middle[] = "-linux-";

	return memmem(name, len, middle, sizeof(middle) - 1);
}

/* The longest of the places that the path is below; NULL: none. *ret_components: left to skip. */
static const char *after_place(const char *path, unsigned *ret_components)
{
	const char *ret = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		size_t len = strlen(places[i].path);

		if (strncmp(path, places[i].path, len) || (ret && path + len <= ret))
			continue;
		ret = path + len;
		*ret_components = places[i].components;
	}
	return ret;
}

/* Length of the path's package, without a slash at the end; 0: it is in none. */
static size_t package_len(const char *path)
{
	unsigned components = 0;
	const char *at = after_place(path, &components);

	for (const char *end; at && components; at = end + 1) {
		size_t len = strcspn(at, "/");

		end = at + len;
		if (!len || !*end || is_shared_name(at, len))
			return 0;
		if (is_triplet(at, len))
			continue;
		if (!--components)
			return (size_t)(end - path);
	}
	return 0;
}

/* Begin of the last component of the path's first len bytes. */
static const char *last_component(const char *path, size_t len)
{
	const char *name = path + len;

	while (name > path && name[-1] != '/')
		name--;
	return name;
}

static bool is_shared(const char *path, size_t len)
{
	const char *name = last_component(path, len);
	size_t name_len = (size_t)(path + len - name);

	return !len || is_shared_name(name, name_len) || is_triplet(name, name_len);
}

/* Length of the program's directory; 0: other programs share it. */
static size_t directory_len(const char *path)
{
	const char *name = text__base_name(path);
	size_t len = name > path ? (size_t)(name - path) - 1 : 0;

	return is_shared(path, len) ? 0 : len;
}

/* The same, or of the directory above "bin": libraries are beside that. */
static size_t root_len(const char *path)
{
	static const char *const inner[] = { "bin", "sbin" };
	const char *name = text__base_name(path);
	size_t len = name > path ? (size_t)(name - path) - 1 : 0;

	name = last_component(path, len);
	if (!is_one_of(name, (size_t)(path + len - name), inner, sizeof(inner) / sizeof(*inner)))
		return directory_len(path);
	len = name > path ? (size_t)(name - path) - 1 : 0;
	return is_shared(path, len) ? 0 : len;
}

/* Length of a name without the version at its end: "python3.11", "gimp-2.10". */
static size_t unversioned_len(const char *name, size_t len)
{
	while (len && strchr("0123456789.-_", name[len - 1]))
		len--;
	return len;
}

/* A program in /usr/bin has its plugins in a package of its name, such as /usr/lib/NAME. */
static bool is_named_like(const char *exe, const char *module, size_t package)
{
	const char *program = text__base_name(exe), *name = last_component(module, package);
	size_t len = unversioned_len(program, strlen(program));
	size_t name_len = unversioned_len(name, (size_t)(module + package - name));

	return len && len == name_len && !strncmp(program, name, len);
}

/* Android runs all applications by one program; their code is where applications are installed. */
static bool is_of_android(const char *exe)
{
	return !strncmp(text__base_name(exe), "app_process", strlen("app_process"));
}

static bool is_application(const char *module)
{
	static const char *const roots[] = { "/data/app/", "/data/data/", "/data/user/",
					     "/data/user_de/", "/mnt/expand/" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (text__begins(module, roots[i]))
			return true;
	return strstr(module, "/app/") || strstr(module, "/priv-app/");
}

static bool is_below(const char *module, const char *directory, size_t len)
{
	return len && !strncmp(module, directory, len) && module[len] == '/';
}

static bool is_beside(const char *module, const char *exe)
{
	size_t len = directory_len(exe);

	return is_below(module, exe, len) && !strchr(module + len + 1, '/');
}

/* The same file, perhaps deleted since. */
static bool is_same_file(const char *exe, const char *module)
{
	size_t len = strlen(exe);

	return !strncmp(module, exe, len) && (!module[len] || !strcmp(module + len, " (deleted)"));
}

bool own_code__has(const char *exe, const char *module)
{
	unsigned components;
	size_t package;

	if (*exe != '/' || *module != '/')
		return false;
	if (is_same_file(exe, module))
		return true;
	if (is_of_android(exe))
		return is_application(module);
	package = package_len(exe);
	if (package)
		return is_below(module, exe, package);
	package = package_len(module);
	if (package && is_named_like(exe, module, package))
		return true;
	/* Directly in such a place: /tmp/program */
	if (after_place(exe, &components))
		return is_beside(module, exe);
	return is_below(module, exe, root_len(exe));
}
