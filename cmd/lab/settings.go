package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/lock"
	"lab/core/plugin/param"
	"lab/core/plugin/project"
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
	modelSet   []string // NAME=VALUE

	plugins []string           // paths of --plugin, built for this command alone
	bench   *project.Workbench // where they are built; nil: none is, or not yet
}

func (s *settings) flags(root *cobra.Command) {
	root.Version = version
	f := root.PersistentFlags()
	f.BoolVarP(&s.verbose, "verbose", "v", false, "show the effective chain with the origin of every value, and plugin logs")
	f.StringVar(&s.logFormat, "log-format", "text", "format of log lines on standard error: text or json")
	f.StringArrayVar(&s.pluginDirs, "plugin-dir", nil, "folder with lab-plugin-NAME executables; may be repeated")
	f.BoolVar(&s.pluginTLS, "plugin-tls", false, "encrypt the connection to plugins (they are local children, so it is off)")
	f.StringArrayVar(&s.modelSet, "model-set", nil, "a setting of models that are opened without any, as NAME=VALUE, for instance rope=yarn:4; may be repeated")
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
// signal. plugins are started at once, side by side, since they will be needed;
// those of --plugin are built first. The function that is returned lets go of
// what open took, once the session is closed.
func (s *settings) open(cmd *cobra.Command, plugins ...string) (_ context.Context, _ *experiment.Session, done func(), err error) {
	opt, err := s.hostOptions(cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
	if s.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, s.timeout,
			fault.New(fault.Limit, "lab", "", "the --timeout of %v has passed", s.timeout))
	}
	built, tidy, err := s.develop(ctx, cmd.ErrOrStderr())
	done = func() { cancel(); tidy() }
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		done()
		return nil, nil, nil, err
	}
	given, err := s.modelSettings()
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	opt.Dirs, opt.Unpinned = append(built.folders, opt.Dirs...), built.folders
	session, err := experiment.Open(opt)
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	if folder, err := modelFolder(); err == nil { // without a home folder there are no such models
		session.UseNames(folder)
	}
	session.UseModelSettings(given)
	session.Host().Warm(append(built.names, plugins...)...)
	return ctx, session, done, nil
}

// modelSettings are those of --model-set.
func (s *settings) modelSettings() ([]param.Setting, error) {
	var given []param.Setting
	for _, text := range s.modelSet {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.Usage, "lab", "", "--model-set %s is not NAME=VALUE", fault.Quote(text, 80)).Fix("for instance --model-set cache_type=q8_0")
		}
		given = append(given, param.Setting{Name: name, Value: value, Origin: "flag --model-set"})
	}
	return given, nil
}

// hostOptions are what the shared flags say of the host.
func (s *settings) hostOptions(cmd *cobra.Command) (host.Options, error) {
	log, err := s.logger(cmd)
	if err != nil {
		return host.Options{}, err
	}
	if s.timeout < 0 {
		return host.Options{}, fault.New(fault.Usage, "lab", "", "--timeout %v is negative", s.timeout)
	}
	for _, dir := range s.pluginDirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return host.Options{}, fault.New(fault.Usage, "lab", "", "--plugin-dir %s is not a folder", fault.Quote(dir, 80))
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return host.Options{}, fault.Wrap(err, fault.Usage, "lab", "working folder")
	}
	return host.Options{Builtins: builtins(), Dirs: host.SearchPath(s.pluginDirs, cwd), Lock: lock.At(cwd),
		Logger: log, TLS: s.pluginTLS}, nil
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
