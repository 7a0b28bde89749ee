/* SPDX-License-Identifier: GPL-2.0 */
/* Which libraries are a program's own, by real paths of Debian, containers, Android and others. */
#include "model/own_code.h"

#include "tests/tap.h"

#define GNU "/usr/lib/x86_64-linux-gnu/"

static const struct {
	const char *exe, *module;
	bool want;
} rows[] = {
	/* the executable */
	{ "/usr/sbin/openvpn", "/usr/sbin/openvpn", true },
	{ "/usr/sbin/openvpn", GNU "libcrypto.so.3", false },
	{ "/usr/bin/transmission-daemon", GNU "libevent-2.1.so.7.0.1", false },
	{ "/opt/program", "/opt/program (deleted)", true },
	{ "/usr/bin/program", "/usr/bin/program2", false },
	/* packages below the directories of the system */
	{ "/usr/lib/libreoffice/program/soffice.bin", "/usr/lib/libreoffice/program/libmergedlo.so",
	  true },
	{ "/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox-esr/libxul.so", true },
	{ "/usr/lib/firefox-esr/firefox-esr", GNU "libglib-2.0.so.0", false },
	{ "/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox/libxul.so", false },
	{ "/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/lib/plpgsql.so", true },
	{ GNU "webkit2gtk-4.0/WebKitWebProcess", GNU "webkit2gtk-4.0/libx.so", true },
	{ GNU "webkit2gtk-4.0/WebKitWebProcess", GNU "libwebkit2gtk-4.0.so.37", false },
	{ "/usr/lib/helper", "/usr/lib/libx.so", false },
	{ GNU "helper", GNU "libx.so", false },
	{ "/usr/libexec/helper", "/usr/libexec/libx.so", false },
	{ "/usr/bin/program", "/usr/lib/libx.so", false },
	{ "/usr/bin/program", "/usr/bin/libx.so", false },
	{ "/bin/program", "/lib/libx.so", false },
	{ "/usr/games/program", "/usr/games/libx.so", false },
	/* plugins in a directory of the program's name */
	{ "/usr/bin/gimp-2.10", "/usr/lib/gimp/2.0/libx.so", true },
	{ "/usr/bin/vlc", GNU "vlc/plugins/libx.so", true },
	{ "/usr/bin/gedit", GNU "gedit/libgedit-44.so", true },
	{ "/usr/bin/vlc", GNU "libvlc.so.5", false },
	{ "/usr/bin/qt5-program", GNU "qt5/plugins/libx.so", false },
	{ "/usr/local/bin/program", "/usr/local/lib/program/libx.so", true },
	{ "/usr/local/bin/program", "/usr/local/lib/libx.so", false },
	/* other installations */
	{ "/usr/local/nginx/sbin/nginx", "/usr/local/nginx/modules/x.so", true },
	{ "/opt/google/chrome/chrome", "/opt/google/chrome/libEGL.so", true },
	{ "/opt/NAME/bin/program", "/opt/NAME/lib/libx.so", true },
	{ "/opt/NAME/bin/program", "/opt/OTHER/lib/libx.so", false },
	{ "/opt/NAME/bin/program", "/opt/NAME2/libx.so", false },
	{ "/opt/program", "/opt/libx.so", true },
	{ "/opt/program", "/opt/OTHER/libx.so", false },
	{ "/snap/code/160/usr/share/code/code", "/snap/code/160/usr/lib/libx.so", true },
	{ "/nix/store/abc-program-1.2/bin/program", "/nix/store/abc-program-1.2/lib/libx.so",
	  true },
	{ "/nix/store/abc-program-1.2/bin/program", "/nix/store/def-openssl-3/lib/libcrypto.so",
	  false },
	{ "/app/server", "/app/lib/libx.so", true },
	{ "/app/bin/server", "/app/lib/libx.so", true },
	{ "/server", "/libx.so", false },
	{ "/server", "/usr/lib/libx.so", false },
	{ "/home/user/project/build/src/program", "/home/user/project/build/lib/libx.so", true },
	{ "/home/user/project/program", "/home/user/other/libx.so", false },
	{ "/home/user/bin/program", "/home/user/lib/libx.so", false },
	{ "/tmp/program", "/tmp/libx.so", true },
	{ "/tmp/program", "/tmp/other/libx.so", false },
	{ "/build/bin/program", "/build/lib/libx.so", true },
	/* Android */
	{ "/system/bin/app_process64",
	  "/data/app/~~x==/com.example-y==/base.apk!/lib/arm64-v8a/libx.so", true },
	{ "/system/bin/app_process64", "/data/app/~~x==/com.example-y==/oat/arm64/base.odex",
	  true },
	{ "/system/bin/app_process64", "/system/priv-app/SystemUI/SystemUI.apk", true },
	{ "/system/bin/app_process64", "/system/framework/arm64/boot-framework.oat", false },
	{ "/system/bin/app_process64", "/apex/com.android.art/lib64/libart.so", false },
	{ "/system/bin/app_process64", "/data/dalvik-cache/arm64/system@framework@boot.oat",
	  false },
	{ "/system/bin/surfaceflinger", "/system/bin/surfaceflinger", true },
	{ "/system/bin/surfaceflinger", "/system/lib64/libgui.so", false },
	{ "/apex/com.example/bin/program", "/apex/com.example/lib64/libx.so", true },
	/* no paths */
	{ "/usr/bin/program", "[vdso]", false },
	{ "program", "program", false },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(own_code__has(rows[i].exe, rows[i].module) == rows[i].want, "%s: %s is %s",
		   rows[i].exe, rows[i].module, rows[i].want ? "its own" : "another's");
	return tap__done();
}
