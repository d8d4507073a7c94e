package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/host"
)

// version is recorded with every run and shown by --version.
const version = "0.1.0"

// settings are the flags every command shares.
type settings struct {
	verbose    bool
	logFormat  string
	pluginDirs []string
	pluginTLS  bool
	timeout    time.Duration
}

func (s *settings) flags(root *cobra.Command) {
	root.Version = version
	f := root.PersistentFlags()
	f.BoolVarP(&s.verbose, "verbose", "v", false, "show the effective chain with the origin of every value, and plugin logs")
	f.StringVar(&s.logFormat, "log-format", "text", "format of log lines on standard error: text or json")
	f.StringArrayVar(&s.pluginDirs, "plugin-dir", nil, "folder with lab-plugin-NAME executables; may be repeated")
	f.BoolVar(&s.pluginTLS, "plugin-tls", false, "encrypt the connection to plugins (they are local children, so it is off)")
	f.DurationVar(&s.timeout, "timeout", 0, "stop the whole command after this long, for instance 90s; 0 never")
}

func (s *settings) logger(cmd *cobra.Command) (*slog.Logger, error) {
	level := slog.LevelWarn
	if s.verbose {
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), opt)), nil
	}
	return nil, fault.Unknown("lab", "log format", s.logFormat, []string{"text", "json"})
}

// open starts a session; the context ends with the command, its deadline or a
// signal. plugins are started at once, side by side, since they will be needed.
func (s *settings) open(cmd *cobra.Command, plugins ...string) (context.Context, *experiment.Session, func(), error) {
	log, err := s.logger(cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.timeout < 0 {
		return nil, nil, nil, fault.New(fault.Usage, "lab", "", "--timeout %v is negative", s.timeout)
	}
	for _, dir := range s.pluginDirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, nil, nil, fault.New(fault.Usage, "lab", "", "--plugin-dir %s is not a folder", fault.Quote(dir, 80))
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, nil, fault.Wrap(err, fault.Usage, "lab", "working folder")
	}
	session, err := experiment.Open(host.Options{
		Builtins: builtins(),
		Dirs:     host.SearchPath(s.pluginDirs, cwd),
		Logger:   log,
		TLS:      s.pluginTLS,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
	if s.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, s.timeout,
			fault.New(fault.Limit, "lab", "", "the --timeout of %v has passed", s.timeout))
	}
	session.Host().Warm(plugins...)
	return ctx, session, cancel, nil
}

// with runs work in a session and closes it whatever happens. The record is
// handed to done when work succeeded; the first error wins.
func (s *settings) with(cmd *cobra.Command, plugins []string, work func(context.Context, *experiment.Session) error,
	done func(experiment.Record) error) (err error) {
	ctx, session, cancel, err := s.open(cmd, plugins...)
	if err != nil {
		return err
	}
	defer cancel()
	err = work(ctx, session)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), closeDeadline)
	defer stop()
	record, closeErr := session.Close(closing)
	if done != nil && (err == nil || fault.KindOf(err) == fault.Interrupted) {
		if doneErr := done(record); err == nil {
			err = doneErr
		}
	}
	if err == nil {
		err = closeErr
	}
	return err
}

// closeDeadline bounds the verification of weights at the end of a run.
const closeDeadline = 2 * time.Minute
