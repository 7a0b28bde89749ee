/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Qt 5 and 6: timer, custom, queued-call and socket events, each to an object of our own class, in
 * the main thread and in a QThread. With QT_STALL_GUI also mouse and update events of a window. No
 * moc: the classes' names are only in their RTTI.
 */
#ifdef QT_STALL_GUI
#include <QGuiApplication>
#include <QMouseEvent>
#include <QWindow>
#else
#include <QCoreApplication>
#endif
#include <QSocketNotifier>
#include <QThread>
#include <QTimer>

#include "stall.h"

#define RECEIVER "\"handler\":\"%s\",\"what\":\"%s\""
#define NAMED	 RECEIVER ",\"source\":\"%s\""

/* A type of our own has only a number. */
#define OWN_NAME "1007"
static const QEvent::Type OWN = QEvent::Type(1007);

class Worker : public QObject
{
      public:
	Worker(const char *name, const char *posted) : name(name), posted(posted)
	{
		setObjectName(name);
	}

	STALL_APART_FN void slot()
	{
		STALL("slot", NAMED, "Worker", "MetaCall", name);
	}

	int timer = 0;

      protected:
	void timerEvent(QTimerEvent *) override
	{
		killTimer(timer);
		STALL("timer", NAMED, "Worker", "Timer", name);
	}

	void customEvent(QEvent *) override
	{
		STALL(posted, NAMED, "Worker", OWN_NAME, name);
	}

      private:
	const char *name;
	const char *posted; /* kind of a stall for an event that is posted to it */
};

class Notifier : public QSocketNotifier
{
      public:
	explicit Notifier(int fd) : QSocketNotifier(fd, QSocketNotifier::Read), fd(fd)
	{
	}

      protected:
	bool event(QEvent *event) override
	{
		char byte;

		if (event->type() == QEvent::SockAct && read(fd, &byte, 1) == 1)
			STALL("socket", RECEIVER, "Notifier", "SockAct");
		return true;
	}

      private:
	int fd;
};

#ifdef QT_STALL_GUI
class Pane : public QWindow
{
      protected:
	void mousePressEvent(QMouseEvent *) override
	{
		STALL("mouse", RECEIVER, "Pane", "MouseButtonPress");
	}

	bool event(QEvent *event) override
	{
		/* In some versions through a timer event of the window. */
		if (event->type() == QEvent::UpdateRequest)
			STALL("update", "\"handler\":\"Pane\"");
		return QWindow::event(event);
	}
};

static Pane *pane;

static void press()
{
	QPointF where(5, 5);

	QCoreApplication::postEvent(pane, new QMouseEvent(QEvent::MouseButtonPress, where, where,
							  Qt::LeftButton, Qt::LeftButton,
							  Qt::NoModifier));
}

static void update()
{
	pane->requestUpdate();
}
#endif

static Worker *near, *far;
static int fds[2];

static void time_out()
{
	near->timer = near->startTimer(1);
}

static void post()
{
	QCoreApplication::postEvent(near, new QEvent(OWN));
}

static void call()
{
	QMetaObject::invokeMethod(
		near, [] { near->slot(); }, Qt::QueuedConnection);
}

static void poke()
{
	if (write(fds[1], "x", 1) != 1)
		_exit(1);
}

static void post_far()
{
	QCoreApplication::postEvent(far, new QEvent(OWN));
}

static void (*const triggers[])() = {
	time_out, post,	  call, poke, post_far,
#ifdef QT_STALL_GUI
	press,	  update,
#endif
};

static void tick()
{
	int due = stall__due(sizeof(triggers) / sizeof(triggers[0]));

	if (due >= 0)
		triggers[due]();
	else if (due == STALL_OVER)
		QCoreApplication::quit();
}

int main(int argc, char **argv)
{
	stall__open();
#ifdef QT_STALL_GUI
	QGuiApplication app(argc, argv);

	pane = new Pane;
	pane->resize(100, 100);
	pane->show();
#else
	QCoreApplication app(argc, argv);
#endif
	QThread thread;
	QTimer timer;

	if (pipe(fds))
		return 1;
	Notifier notifier(fds[0]);
	near = new Worker("jank-near", "custom");
	far = new Worker("jank-far", "thread");
	QTimer *often = new QTimer(far);
	far->moveToThread(&thread);
	QObject::connect(&thread, &QThread::started, often,
			 [often] { often->start(STALL_TICK_MS); });
	thread.start();
	QObject::connect(&timer, &QTimer::timeout, tick);
	timer.start(STALL_TICK_MS);
	app.exec();
	_exit(0); /* a wait for the thread would be a stall after the last wait that is seen */
}
