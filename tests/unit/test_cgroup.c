/* SPDX-License-Identifier: GPL-2.0 */
/* Containers, pods and units by the cgroup paths of each runtime. */
#include "procfs/cgroup.h"

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define ID    "3f8a2c1b9d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a"
#define OTHER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define POD   "7f3b1d2e-0a9c-4b8d-9e6f-112233445566"
#define POD_  "7f3b1d2e_0a9c_4b8d_9e6f_112233445566"

static const struct row {
	const char *what, *path, *container, *pod, *unit;
} rows[] = {
	{ "no cgroup", "/", "", "", "" },
	{ "nothing", "", "", "", "" },
	{ "a service", "/system.slice/redis-server.service", "", "", "redis-server.service" },
	{ "an instance", "/system.slice/system-getty.slice/getty@tty1.service", "", "",
	  "getty@tty1.service" },
	{ "a service's own groups", "/system.slice/foo.service/supervised/a", "", "",
	  "foo.service" },
	{ "a login", "/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope" },
	{ "a user's unit",
	  "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-foo-12.scope", "", "",
	  "app-gnome-foo-12.scope" },
	{ "an escaped name", "/system.slice/_cpu.service", "", "", "cpu.service" },
	{ "init", "/init.scope", "", "", "init.scope" },

	{ "Docker, systemd", "/system.slice/docker-" ID ".scope", ID, "", "docker-" ID ".scope" },
	{ "Docker, cgroupfs", "/docker/" ID, ID, "", "" },
	{ "Docker, rootless",
	  "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID, "",
	  "docker-" ID ".scope" },
	{ "Docker, with its own parent", "/ci/jobs/" ID, ID, "", "" },
	{ "Docker in Docker", "/docker/" OTHER "/docker/" ID, ID, "", "" },
	{ "systemd in Docker", "/system.slice/docker-" ID ".scope/system.slice/nginx.service", ID,
	  "", "nginx.service" },
	{ "seen from another namespace", "/../../docker-" ID ".scope", ID, "",
	  "docker-" ID ".scope" },
	{ "Amazon ECS", "/ecs/0123456789abcdef0123456789abcdef/" ID, ID, "", "" },

	{ "containerd for Kubernetes, systemd",
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
	  ".slice/cri-containerd-" ID ".scope",
	  ID, POD, "cri-containerd-" ID ".scope" },
	{ "the same, guaranteed",
	  "/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" ID ".scope", ID, POD,
	  "cri-containerd-" ID ".scope" },
	{ "kind",
	  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" POD_ ".slice/cri-containerd-" ID ".scope",
	  ID, POD, "cri-containerd-" ID ".scope" },
	{ "containerd for Kubernetes, cgroupfs", "/kubepods/burstable/pod" POD "/" ID, ID, POD,
	  "" },
	{ "a mixture of both",
	  "/system.slice/containerd.service/kubepods-burstable-pod" POD_
	  ".slice:cri-containerd:" ID,
	  ID, POD, "containerd.service" },
	{ "Docker for Kubernetes",
	  "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_
	  ".slice/docker-" ID ".scope",
	  ID, POD, "docker-" ID ".scope" },
	{ "a static pod", "/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/" ID, ID,
	  "0123456789abcdef0123456789abcdef", "" },
	{ "nerdctl", "/system.slice/nerdctl-" ID ".scope", ID, "", "nerdctl-" ID ".scope" },
	{ "ctr", "/default/" ID, ID, "", "" },

	{ "Podman", "/machine.slice/libpod-" ID ".scope", ID, "", "libpod-" ID ".scope" },
	{ "Podman 4", "/machine.slice/libpod-" ID ".scope/container", ID, "",
	  "libpod-" ID ".scope" },
	{ "Podman, rootless",
	  "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  ID, "", "libpod-" ID ".scope" },
	{ "Podman, cgroupfs", "/libpod_parent/libpod-" ID, ID, "", "" },
	{ "in a pod of Podman",
	  "/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope", ID, "",
	  "libpod-" ID ".scope" },
	{ "Podman's monitor", "/machine.slice/libpod-conmon-" ID ".scope", "", "",
	  "libpod-conmon-" ID ".scope" },
	{ "CRI-O, systemd",
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/crio-" ID
	  ".scope/container",
	  ID, POD, "crio-" ID ".scope" },
	{ "CRI-O, cgroupfs", "/kubepods/burstable/pod" POD "/crio-" ID, ID, POD, "" },
	{ "CRI-O's monitor", "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID ".scope",
	  "", POD, "crio-conmon-" ID ".scope" },

	{ "systemd-nspawn", "/machine.slice/systemd-nspawn@deb.service/payload", "deb", "",
	  "systemd-nspawn@deb.service" },
	{ "a service inside",
	  "/machine.slice/systemd-nspawn@my\\x2ddeb.service/payload/system.slice/cron.service",
	  "my-deb", "", "cron.service" },
	{ "machined", "/machine.slice/machine-deb\\x2d12.scope", "deb-12", "",
	  "machine-deb\\x2d12.scope" },
	{ "a virtual machine", "/machine.slice/machine-qemu\\x2d1\\x2dwin.scope/libvirt/emulator",
	  "", "", "machine-qemu\\x2d1\\x2dwin.scope" },
	{ "LXC", "/lxc.payload.web/init.scope", "web", "", "init.scope" },
	{ "LXC 4.0", "/lxc.payload/web/system.slice/ssh.service", "web", "", "ssh.service" },
	{ "LXC, version 1", "/lxc/web", "web", "", "" },
	{ "LXC's monitor", "/lxc.monitor.web", "", "", "" },

	{ "63 digits",
	  "/docker/"
	  "f8a2c1b9d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a",
	  "", "", "" },
	{ "65 digits", "/docker/0" ID, "", "", "" },
	{ "capitals",
	  "/docker/"
	  "AF8A2C1B9D7E6F5A4B3C2D1E0F9A8B7C6D5E4F3A2B1C0D9E8F7A6B5C4D3E2F1A",
	  "", "", "" },
	{ "no uid", "/kubepods/podium", "", "", "" },
	{ "an unfinished escape", "/machine.slice/machine-a\\x2.scope", "a\\x2", "",
	  "machine-a\\x2.scope" },
	{ "no name", "/machine.slice/machine-.scope", "", "", "machine-.scope" },
	{ "Android", "/uid_10123/pid_4567", "", "", "" },
};

/* The names of a path, with these owners of its cgroups; who could have invented them? */
static void check_chooser(const char *mount, const char *path, unsigned want, const char *what)
{
	struct cgroup_names names;

	cgroup__names(path, &names);
	is_uint(cgroup__names_uid(mount, path, &names), want, "%s", what);
}

static void check_choosers(void)
{
	const char *mount = scratch__path(".");
	char cmd[1024];

	if (geteuid()) {
		skip(6, "cgroups of other owners need root");
		return;
	}
	/* As systemd delegates to a user: its manager's cgroup and all below are the user's. */
	snprintf(cmd, sizeof(cmd),
		 "cd %s && mkdir -p user.slice/user@1000.service/docker-" ID ".scope "
		 "memory/pods/docker-" ID ".scope docker/" ID "/nested && "
		 "chown 1000 user.slice/user@1000.service && chown 1001 memory/pods && "
		 "chown 1002 docker/" ID "/nested",
		 mount);
	if (system(cmd))
		abort();
	check_chooser(mount, "/user.slice/user@1000.service", 0, "root delegates a unit");
	check_chooser(mount, "/user.slice/user@1000.service/docker-" ID ".scope", 1000,
		      "a user invents a container");
	check_chooser(mount, "/user.slice/user@1000.service/gone/docker-" ID ".scope", 1000,
		      "in a cgroup that is gone");
	check_chooser(mount, "/pods/docker-" ID ".scope", 1001, "in a hierarchy of version 1");
	check_chooser(mount, "/docker/" ID, 0, "root's container");
	check_chooser(mount, "/docker/" ID "/nested/any", 0, "what has no name does not count");
}

int main(void)
{
	char path[1024];
	struct cgroup_names names;

	for (const struct row *row = rows; row < rows + sizeof(rows) / sizeof(*rows); row++) {
		cgroup__names(row->path, &names);
		is_str(names.container, row->container, "%s: container", row->what);
		is_str(names.pod, row->pod, "%s: pod", row->what);
		is_str(names.unit, row->unit, "%s: unit", row->what);
	}
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	strcpy(path + sizeof(path) - 9, ".service");
	cgroup__names(path, &names);
	is_uint(strlen(names.container), sizeof(names.container) - 1, "a long name is cut");
	is_uint(strlen(names.unit), sizeof(names.unit) - 1, "a long unit's, too");
	scratch__init();
	check_choosers();
	return tap__done();
}
