// SPDX-License-Identifier: GPL-2.0
// An idle Qt program; with an argument in a dialog's loop, which a handler runs.
#include <QtGui>

int main(int argc, char **argv)
{
	QGuiApplication app(argc, argv);

	if (argc > 1)
		QTimer::singleShot(0, [] { QEventLoop().exec(); });
	return app.exec();
}
